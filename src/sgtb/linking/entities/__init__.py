"""What is known about entities: facts, descriptions, vocabulary."""
