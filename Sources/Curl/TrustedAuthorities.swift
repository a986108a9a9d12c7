import CCurl
import FoundationEssentials

/// The PEM certificates of a file, followed by the system's certificates; nil if the file contains no certificates or can't be
/// read.
package func trustedAuthorities(inFile path: String) -> [UInt8]? {
    let own = FileManager.default.contents(atPath: path) ?? Data()
    guard String(decoding: own, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else { return nil }
    let system = curl_version_info(CURLVERSION_SEVENTH).pointee.cainfo.flatMap {
        FileManager.default.contents(atPath: String(cString: $0))
    }
    return Array(own + "\n".utf8 + (system ?? Data()))
}
