module glasswarden.io/bench

go 1.24
