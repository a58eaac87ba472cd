// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What is wrong with an image, as far as its structure shows.
enum ImageDamage: Hashable, Sendable {
    /// The end of the file is missing.
    case cut
    /// Its parts are not those of an image, or have another checksum than they state.
    case damaged

    /// The reason, as a sentence.
    var reason: String {
        switch self {
        case .cut: "The image is cut off: its end is missing."
        case .damaged: "The image is damaged."
        }
    }
}

/// Checks whether an image is whole. Many decoders show the part of a cut image that is there, as if it were all, and a
/// system without a desktop has no decoder.
///
/// Follows the parts of the file once, from the first to the last, in small blocks. Nothing is decoded: an image
/// without a fault here may still be one that no decoder can read. What follows the end of the image is not looked at,
/// because some programs write more there.
struct ImageStructure<Failure: Error> {
    private let read: (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
    /// The block that was read last, what is used of it, and the place in the file where it ends.
    private var block: [UInt8] = []
    private var used = 0
    private var end: Int64 = 0

    /// Finds what is wrong with an image; `nil` for nothing, and for a file that is none.
    static func damage(
        of type: NotificationAttachmentType,
        _ read: @escaping (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> ImageDamage? {
        var image = ImageStructure(read: read)
        switch type {
        case .png: return try image.damageOfPNG()
        case .gif: return try image.damageOfGIF()
        case .jpeg: return try image.damageOfJPEG()
        default: return nil
        }
    }

    private init(read: @escaping (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]) { self.read = read }

    // MARK: Formats

    /// Checks the chunks up to IEND (ISO 15948, 5.3).
    private mutating func damageOfPNG() throws(Failure) -> ImageDamage? {
        var hasData = false
        self.skip(8)
        while let header = try self.bytes(8) {
            let type = header[4...]
            guard type.allSatisfy({ (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }) else { return .damaged }
            let length = header[..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
            // Decoders only leave out a chunk with a small initial whose checksum is another one.
            guard header[4] < 0x61 else {
                self.skip(length + 4)
                continue
            }
            var checksum = PNGChecksum()
            checksum.add(type)
            guard try self.add(length, to: &checksum), let stated = try self.bytes(4) else { return .cut }
            guard stated.reduce(UInt32(0), { $0 << 8 | UInt32($1) }) == checksum.value else { return .damaged }
            if type.elementsEqual("IDAT".utf8) { hasData = true }
            if type.elementsEqual("IEND".utf8) { return hasData ? nil : .damaged }
        }
        return .cut
    }

    /// Checks the blocks up to the trailer (GIF89a, appendix B).
    private mutating func damageOfGIF() throws(Failure) -> ImageDamage? {
        guard let header = try self.bytes(13) else { return .cut }
        self.skipColours(header[10])
        var hasImage = false
        while let introducer = try self.byte() {
            switch introducer {
            case 0x3B: return hasImage ? nil : .damaged
            // The label of an extension.
            case 0x21: self.skip(1)
            case 0x2C:
                guard let descriptor = try self.bytes(9) else { return .cut }
                self.skipColours(descriptor[8])
                // The size of the first codes.
                self.skip(1)
                hasImage = true
            default: return .damaged
            }
            while true {
                guard let count = try self.byte() else { return .cut }
                guard count > 0 else { break }
                self.skip(Int64(count))
            }
        }
        return .cut
    }

    /// Checks the segments and scans up to the end of the image (ITU-T T.81, B.1).
    private mutating func damageOfJPEG() throws(Failure) -> ImageDamage? {
        var hasScan = false
        while let marker = try self.marker() {
            switch marker {
            // The start of the image.
            case 0xD8: continue
            case 0xD9: return hasScan ? nil : .damaged
            default:
                guard let length = try self.bytes(2) else { return .cut }
                let count = Int64(length[0]) << 8 | Int64(length[1])
                guard count >= 2 else { return .damaged }
                self.skip(count - 2)
                if marker == 0xDA { hasScan = true }
            }
        }
        return .cut
    }

    /// The next marker that is none inside a scan; `nil` at the end of the file. Decoders skip what is between
    /// segments.
    private mutating func marker() throws(Failure) -> UInt8? {
        while try self.fill() {
            guard let index = self.block[self.used...].firstIndex(of: 0xFF) else {
                self.used = self.block.count
                continue
            }
            self.used = index
            // Fill bytes may precede the code.
            var next: UInt8? = 0xFF
            while next == 0xFF { next = try self.byte() }
            guard let code = next else { return nil }
            // A byte of the scan, a temporary marker, and those that divide a scan.
            guard code == 0x00 || code == 0x01 || (0xD0...0xD7).contains(code) else { return code }
        }
        return nil
    }

    /// Skips a table of colours, if the flags say that there is one.
    private mutating func skipColours(_ flags: UInt8) {
        if flags & 0x80 != 0 { self.skip(3 << (Int64(flags & 0x07) + 1)) }
    }

    // MARK: Bytes

    /// Whether there is a byte that is not used yet.
    private mutating func fill() throws(Failure) -> Bool {
        guard self.used >= self.block.count else { return true }
        self.block = try self.read(self.end, 4096)
        self.used = 0
        self.end += Int64(self.block.count)
        return !self.block.isEmpty
    }

    private mutating func byte() throws(Failure) -> UInt8? {
        guard try self.fill() else { return nil }
        defer { self.used += 1 }
        return self.block[self.used]
    }

    /// - Returns: `nil` if the file ends before.
    private mutating func bytes(_ count: Int) throws(Failure) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let byte = try self.byte() else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Skips bytes without reading them, also beyond the end of the file: there is no next byte then.
    private mutating func skip(_ count: Int64) {
        let present = Int64(self.block.count - self.used)
        guard count > present else { return self.used += Int(count) }
        self.end += count - present
        (self.block, self.used) = ([], 0)
    }

    /// - Returns: whether all of these bytes are there.
    private mutating func add(_ count: Int64, to checksum: inout PNGChecksum) throws(Failure) -> Bool {
        var left = count
        while left > 0 {
            guard try self.fill() else { return false }
            let part = Int(min(left, Int64(self.block.count - self.used)))
            checksum.add(self.block[self.used..<self.used + part])
            self.used += part
            left -= Int64(part)
        }
        return true
    }
}

/// The checksum of a chunk (ISO 15948, annex D).
private struct PNGChecksum {
    private static let table = (UInt32(0)..<256).map { (number: UInt32) -> UInt32 in
        (0..<8).reduce(number) { (rest: UInt32, _: Int) -> UInt32 in
            rest & 1 == 1 ? rest >> 1 ^ 0xEDB8_8320 : rest >> 1
        }
    }

    private var rest = UInt32.max

    var value: UInt32 { ~self.rest }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes {
            self.rest = Self.table[Int(UInt8(truncatingIfNeeded: self.rest) ^ byte)] ^ self.rest >> 8
        }
    }
}
