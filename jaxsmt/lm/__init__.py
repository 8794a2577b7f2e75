"""Language models: estimated in arrays, exact on the device, mixed per sentence."""
