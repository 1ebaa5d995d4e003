//! Tests conversions of whole sessions from one dialect to another.

mod lost;
mod lowered;
mod native;
mod real;
mod round_trip;
mod support;
mod to_anthropic;
mod to_chat;
mod to_copilot;
mod to_gemini;
mod to_items;
mod to_kimi;
mod to_opencode;
mod to_pi;
mod to_qwen;
