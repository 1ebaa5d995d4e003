# Fish completion for ctx, which computes the values itself.

complete --keep-order --exclusive --command ctx --arguments "(CTX_COMPLETE=fish ctx -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
