# Fish completion for ctx-snapshot, which computes the values itself.

complete --keep-order --exclusive --command ctx-snapshot --arguments "(CTX_COMPLETE=fish ctx-snapshot -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
