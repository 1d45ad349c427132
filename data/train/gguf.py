"""Reading and writing GGUF files: metadata, and tensors in F32, F16 and Q8_0."""

import struct

import numpy as np

F32, F16, Q8_0 = 0, 1, 8
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
ALIGNMENT = 32


class Reader:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        self.at = 4
        assert self.data[:4] == b"GGUF", path
        self.scalar(4)
        tensors, keys = self.scalar(10), self.scalar(10)
        self.meta = {}  # key: (type, value); arrays: ((ARRAY, type), values)
        for _ in range(keys):
            key, kind = self.string(), self.scalar(4)
            if kind == ARRAY:
                of, n = self.scalar(4), self.scalar(10)
                self.meta[key] = ((ARRAY, of), [self.value(of) for _ in range(n)])
            else:
                self.meta[key] = (kind, self.value(kind))
        self.where = {}
        for _ in range(tensors):
            name = self.string()
            shape = [self.scalar(10) for _ in range(self.scalar(4))][::-1]
            self.where[name] = (self.scalar(4), shape, self.scalar(10))
        self.start = -(-self.at // ALIGNMENT) * ALIGNMENT

    def scalar(self, kind):
        v = struct.unpack_from(SCALARS[kind], self.data, self.at)[0]
        self.at += struct.calcsize(SCALARS[kind])
        return v

    def string(self):
        n = self.scalar(10)
        self.at += n
        return self.data[self.at - n : self.at].decode("utf-8")

    def value(self, kind):
        return self.string() if kind == STRING else self.scalar(kind)

    def tensor(self, name):
        """float32, in PyTorch's order of dimensions."""
        kind, shape, offset = self.where[name]
        n, at = int(np.prod(shape)), self.start + offset
        if kind == Q8_0:
            blocks = np.frombuffer(self.data, np.dtype([("d", "<f2"), ("q", "i1", 32)]), n // 32, at)
            x = blocks["q"].astype(np.float32) * blocks["d"].astype(np.float32)[:, None]
        else:
            x = np.frombuffer(self.data, {F32: "<f4", F16: "<f2"}[kind], n, at).astype(np.float32)
        return x.reshape(shape)


def q8_0(x):
    """The bytes of a float32 array in Q8_0: blocks of 32 with one half-precision scale."""
    x = x.reshape(-1, 32).astype(np.float32)
    d = np.abs(x).max(1) / 127
    out = np.zeros(len(x), np.dtype([("d", "<f2"), ("q", "i1", 32)]))
    out["d"] = d
    scale = out["d"].astype(np.float32)
    out["q"] = np.clip(np.rint(x / np.where(scale > 0, scale, 1)[:, None]), -127, 127)
    return out.tobytes()


def write(path, meta, tensors):
    """tensors: {name: float32 array}; matrices become Q8_0, vectors stay F32."""

    def text(s):
        b = s.encode("utf-8")
        return struct.pack("<Q", len(b)) + b

    def value(kind, v):
        return text(v) if kind == STRING else struct.pack(SCALARS[kind], v)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta))
    for key, (kind, v) in meta.items():
        head += text(key)
        if isinstance(kind, tuple):
            head += struct.pack("<IIQ", ARRAY, kind[1], len(v)) + b"".join(value(kind[1], x) for x in v)
        else:
            head += struct.pack("<I", kind) + value(kind, v)
    blobs, offset = [], 0
    for name, x in tensors.items():
        kind = F32 if x.ndim == 1 else Q8_0
        blob = x.astype("<f4").tobytes() if kind == F32 else q8_0(x)
        head += text(name) + struct.pack("<I", x.ndim) + b"".join(struct.pack("<Q", n) for n in x.shape[::-1])
        head += struct.pack("<IQ", kind, offset)
        blob += b"\0" * (-len(blob) % ALIGNMENT)
        blobs.append(blob)
        offset += len(blob)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGNMENT))
        for blob in blobs:
            f.write(blob)
