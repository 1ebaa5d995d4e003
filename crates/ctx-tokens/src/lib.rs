//! Text to token count: encodings, and the models that use them
