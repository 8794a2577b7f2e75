"""What a trained model is: its folder, labels and weights, and how it translates lines."""
