# Fish completion for ctx-split, which computes the values itself.

complete --keep-order --exclusive --command ctx-split --arguments "(CTX_COMPLETE=fish ctx-split -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
