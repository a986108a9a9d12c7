/// The fields of a QuakeML event that are read, by their paths below `event` (https://quake.ethz.ch/quakeml, Basic Event
/// Description). All other elements are skipped.
enum QuakeMLField: String, CaseIterable {
    case preferredOrigin = "preferredOriginID"
    case preferredMagnitude = "preferredMagnitudeID"
    case preferredMechanism = "preferredFocalMechanismID"
    case type = "type"
    case typeCertainty = "typeCertainty"
    case agency = "creationInfo/agencyID"
    case author = "creationInfo/author"
    case created = "creationInfo/creationTime"

    case descriptionText = "description/text"
    case descriptionType = "description/type"
    case commentText = "comment/text"

    case originTime = "origin/time/value"
    case originTimeUncertainty = "origin/time/uncertainty"
    case originLatitude = "origin/latitude/value"
    case originLatitudeUncertainty = "origin/latitude/uncertainty"
    case originLongitude = "origin/longitude/value"
    case originLongitudeUncertainty = "origin/longitude/uncertainty"
    case originDepth = "origin/depth/value"
    case originDepthUncertainty = "origin/depth/uncertainty"
    case originDepthType = "origin/depthType"
    case originHorizontalUncertainty = "origin/originUncertainty/horizontalUncertainty"
    case originStations = "origin/quality/usedStationCount"
    case originPhases = "origin/quality/usedPhaseCount"
    case originResidual = "origin/quality/standardError"
    case originGap = "origin/quality/azimuthalGap"
    case originDistance = "origin/quality/minimumDistance"
    case originMode = "origin/evaluationMode"
    case originStatus = "origin/evaluationStatus"
    case originAgency = "origin/creationInfo/agencyID"
    case originAuthor = "origin/creationInfo/author"
    case originCreated = "origin/creationInfo/creationTime"

    case magnitudeValue = "magnitude/mag/value"
    case magnitudeUncertainty = "magnitude/mag/uncertainty"
    case magnitudeType = "magnitude/type"
    case magnitudeOrigin = "magnitude/originID"
    case magnitudeStations = "magnitude/stationCount"
    case magnitudeAgency = "magnitude/creationInfo/agencyID"
    case magnitudeAuthor = "magnitude/creationInfo/author"
    case magnitudeCreated = "magnitude/creationInfo/creationTime"

    case strike1 = "focalMechanism/nodalPlanes/nodalPlane1/strike/value"
    case dip1 = "focalMechanism/nodalPlanes/nodalPlane1/dip/value"
    case rake1 = "focalMechanism/nodalPlanes/nodalPlane1/rake/value"
    case strike2 = "focalMechanism/nodalPlanes/nodalPlane2/strike/value"
    case dip2 = "focalMechanism/nodalPlanes/nodalPlane2/dip/value"
    case rake2 = "focalMechanism/nodalPlanes/nodalPlane2/rake/value"
    case mechanismMode = "focalMechanism/evaluationMode"
    case mechanismStatus = "focalMechanism/evaluationStatus"
    case mechanismAgency = "focalMechanism/creationInfo/agencyID"
    case mechanismCreated = "focalMechanism/creationInfo/creationTime"
    case momentMagnitude = "focalMechanism/momentTensor/momentMagnitudeID"
    case scalarMoment = "focalMechanism/momentTensor/scalarMoment/value"
    case mrr = "focalMechanism/momentTensor/tensor/Mrr/value"
    case mtt = "focalMechanism/momentTensor/tensor/Mtt/value"
    case mpp = "focalMechanism/momentTensor/tensor/Mpp/value"
    case mrt = "focalMechanism/momentTensor/tensor/Mrt/value"
    case mrp = "focalMechanism/momentTensor/tensor/Mrp/value"
    case mtp = "focalMechanism/momentTensor/tensor/Mtp/value"
    case doubleCouple = "focalMechanism/momentTensor/doubleCouple"
    case clvd = "focalMechanism/momentTensor/clvd"
}

/// The parts that one event may have several times.
enum QuakeMLPart: String, CaseIterable {
    case description, comment, origin, magnitude
    case mechanism = "focalMechanism"
}

/// The tree of elements that leads to the fields.
struct QuakeMLTree {
    struct Node {
        var children: [(name: [UInt8], node: Int)] = []
        var part: QuakeMLPart?
        var field: QuakeMLField?
    }

    static let root = 0
    let document, parameters, event: Int
    /// The element with the time at which the document was made: `creationInfo/creationTime` of `eventParameters`.
    let made: Int
    let nodes: [Node]

    static let shared = QuakeMLTree()

    private init() {
        var nodes = [Node()]
        func node(_ path: [String], below start: Int) -> Int {
            path.reduce(start) { parent, name in
                if let child = nodes[parent].children.first(where: { $0.name.elementsEqual(name.utf8) }) {
                    return child.node
                }
                nodes.append(Node())
                nodes[parent].children.append((Array(name.utf8), nodes.count - 1))
                return nodes.count - 1
            }
        }
        document = node(["quakeml"], below: Self.root)
        parameters = node(["eventParameters"], below: document)
        event = node(["event"], below: parameters)
        made = node(["creationInfo", "creationTime"], below: parameters)
        for field in QuakeMLField.allCases {
            let place = node(field.rawValue.split(separator: "/").map(String.init), below: event)
            nodes[place].field = field
        }
        for part in QuakeMLPart.allCases {
            let place = node([part.rawValue], below: event)
            nodes[place].part = part
        }
        self.nodes = nodes
    }

    /// The node of an element below another node; nil if the element is skipped.
    func child(_ name: UnsafePointer<UInt8>, of node: Int) -> Int? {
        nodes[node].children.first { child in
            // The parser's name ends with a zero byte, at which the comparison stops.
            child.name.indices.allSatisfy { name[$0] == child.name[$0] } && name[child.name.count] == 0
        }?.node
    }
}
