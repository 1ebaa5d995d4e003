# Fish completion for ctx-check, which computes the values itself.

complete --keep-order --exclusive --command ctx-check --arguments "(CTX_COMPLETE=fish ctx-check -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
