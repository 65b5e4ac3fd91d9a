def block_reduce(image, block_size, func):
    """Reduce blocks along the second of three axes, which they divide."""
    one, block, two = block_size
    assert (one, two) == (1, 1)
    layers, frames, width = image.shape
    return func(image.reshape(layers, frames // block, block, width), axis=2)
