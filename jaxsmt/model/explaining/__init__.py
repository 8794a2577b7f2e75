"""How a translation came about: rules, the components that they were seen in, and what each of them added."""
