# Fish completion for ctx-score, which computes the values itself.

complete --keep-order --exclusive --command ctx-score --arguments "(CTX_COMPLETE=fish ctx-score -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
