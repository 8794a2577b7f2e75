"""Recognisers of the class of a sentence by its words.

    bag_of_words  sentences as sparse counts     logistic  regression on them     recogniser  both, kept in a folder
"""
