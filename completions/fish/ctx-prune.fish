# Fish completion for ctx-prune, which computes the values itself.

complete --keep-order --exclusive --command ctx-prune --arguments "(CTX_COMPLETE=fish ctx-prune -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
