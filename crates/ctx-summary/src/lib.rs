//! The summary of an old zone: rule summary, templates, LLM client
