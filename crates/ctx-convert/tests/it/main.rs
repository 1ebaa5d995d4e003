//! Whole sessions from one dialect into another.

mod lowered;
mod real;
mod support;
mod to_anthropic;
mod to_chat;
