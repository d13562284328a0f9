"""The evidence page: `docs/evidence.md` is made of the claims in `claims/*.toml` and their results in `results/*.json`."""
