# Fish completion for TOOL, which computes the values itself.

complete --keep-order --exclusive --command TOOL --arguments "(CTX_COMPLETE=fish TOOL -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
