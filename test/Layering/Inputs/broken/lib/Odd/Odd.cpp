// A folder without a layer.
