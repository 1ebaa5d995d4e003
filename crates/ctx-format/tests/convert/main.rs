//! Converts whole sessions from one dialect into another.

mod lowered;
mod real;
mod round_trip;
mod support;
mod to_anthropic;
mod to_chat;
mod to_pi;
