# Fish completion for ctx-compact, which computes the values itself.

complete --keep-order --exclusive --command ctx-compact --arguments "(CTX_COMPLETE=fish ctx-compact -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
