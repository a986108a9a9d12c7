import NIOCore

/// A cache with a limit in bytes. Beyond the limit, the oldest values are dropped. The newest value is always kept.
struct ByteBoundedCache<Key: Hashable, Value> {
    private let limit: Int
    private var values: [Key: (value: Value, size: Int)] = [:]
    /// The keys of `values`, the oldest first.
    private var keys = CircularBuffer<Key>()
    private var size = 0

    init(limit: Int) { self.limit = limit }

    subscript(key: Key) -> Value? { values[key]?.value }

    /// Adds a value, unless the cache already has one with this key.
    mutating func add(_ value: Value, _ key: Key, size: Int) {
        guard values[key] == nil else { return }
        values[key] = (value, size)
        keys.append(key)
        self.size += size
        while self.size > limit, keys.count > 1, let oldest = keys.popFirst() {
            self.size -= values.removeValue(forKey: oldest)?.size ?? 0
        }
    }

    mutating func removeAll() { self = Self(limit: limit) }
}
