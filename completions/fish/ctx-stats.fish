# Fish completion for ctx-stats, which computes the values itself.

complete --keep-order --exclusive --command ctx-stats --arguments "(CTX_COMPLETE=fish ctx-stats -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
