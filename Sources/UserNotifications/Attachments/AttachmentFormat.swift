// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Recognises the format of a file by its first bytes, and reads the size of an image from its header.
///
/// Pure: the bytes of the file come from a closure. Nothing is decoded.
struct AttachmentFormat {
    /// The number of bytes with which every format is recognised.
    static let headBytes = 16
    private static let videoBrands = [
        "isom", "iso2", "iso3", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "M4V ", "MSNV", "dash",
    ]
    /// The maximum number of segments before the frame header of a JPEG file.
    private static let maxSegments = 512

    let type: NotificationAttachmentType
    /// The width times the height of an image; `nil` for other files, and if the header does not state it.
    let pixels: Int?

    /// - Parameter read: reads at most this many bytes at an offset; fewer at the end of the file.
    /// - Returns: `nil` for any other format.
    init?<Failure>(_ read: (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]) throws(Failure) {
        let head = try read(0, Self.headBytes)
        guard let type = Self.type(of: head) else { return nil }
        self.type = type
        switch type {
        case .png:
            let isHeader = try read(8, 8) == [0, 0, 0, 13] + Array("IHDR".utf8)
            self.pixels = isHeader ? Self.product(of: try read(16, 8), bytes: 4, bigEndian: true) : nil
        case .gif: self.pixels = Self.product(of: try read(6, 4), bytes: 2, bigEndian: false)
        case .jpeg: self.pixels = try Self.pixels(ofJPEG: read)
        default: self.pixels = nil
        }
    }

    private static func type(of head: [UInt8]) -> NotificationAttachmentType? {
        func has(_ text: String, at offset: Int = 0) -> Bool {
            head.dropFirst(offset).starts(with: text.utf8)
        }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if has("GIF87a") || has("GIF89a") { return .gif }
        if has("FORM"), has("AIFF", at: 8) || has("AIFC", at: 8) { return .aiff }
        if has("RIFF") { return has("WAVE", at: 8) ? .wav : has("AVI ", at: 8) ? .avi : nil }
        // ISO 14496-12: the size of the first box, its type, and the brand. Images have brands, too.
        if has("ftyp", at: 4) {
            if has("M4A ", at: 8) || has("M4B ", at: 8) { return .m4a }
            return Self.videoBrands.contains { has($0, at: 8) } ? .mp4 : nil
        }
        // ISO 13818-1: a pack header, or the header of a video sequence.
        if head.starts(with: [0, 0, 1, 0xBA]) || head.starts(with: [0, 0, 1, 0xB3]) { return .mpeg }
        if has("ID3") { return .mp3 }
        // A frame of MPEG audio, layer III: 11 bits of synchronisation, and no reserved value.
        guard head.count >= 3, head[0] == 0xFF, head[1] & 0xE6 == 0xE2, head[1] & 0x18 != 0x08,
            head[2] & 0xF0 != 0xF0, head[2] & 0x0C != 0x0C
        else { return nil }
        return .mp3
    }

    /// Two numbers of the same length, multiplied.
    private static func product(of numbers: [UInt8], bytes: Int, bigEndian: Bool) -> Int? {
        guard numbers.count == 2 * bytes else { return nil }
        func number(_ part: some Collection<UInt8>) -> Int {
            (bigEndian ? Array(part) : part.reversed()).reduce(0) { $0 << 8 | Int($1) }
        }
        let (width, height) = (number(numbers.prefix(bytes)), number(numbers.suffix(bytes)))
        // Two numbers of 32 bits may exceed 63.
        let (pixels, isTooLarge) = width.multipliedReportingOverflow(by: height)
        return isTooLarge ? .max : pixels
    }

    /// Finds what is wrong with an image; `nil` for nothing, and for other files.
    ///
    /// - Parameter read: reads at most this many bytes at an offset; fewer at the end of the file.
    func damage<Failure>(
        _ read: @escaping (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> ImageDamage? {
        try ImageStructure<Failure>.damage(of: self.type, read)
    }

    /// Skips the segments before the frame header (ITU-T T.81, B.2).
    private static func pixels<Failure>(
        ofJPEG read: (_ offset: Int64, _ count: Int) throws(Failure) -> [UInt8]
    ) throws(Failure) -> Int? {
        var offset: Int64 = 2
        for _ in 0..<Self.maxSegments {
            let segment = try read(offset, 9)
            guard segment.count == 9, segment[0] == 0xFF else { return nil }
            switch segment[1] {
            // Fill bytes before a marker.
            case 0xFF: offset += 1
            // The frame headers, without the tables among them: precision, height and width follow the length.
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                return Self.product(of: Array(segment[5..<9]), bytes: 2, bigEndian: true)
            case 0xD8, 0x01: offset += 2
            default:
                let length = Int64(segment[2]) << 8 | Int64(segment[3])
                guard length >= 2 else { return nil }
                offset += 2 + length
            }
        }
        return nil
    }
}
