import Association
import Feed
import Foundation

/// Groups rows by other rules. Each function returns the number of each row's group, by the row's code.
enum Rivals {
    static func kilometres(_ a: Solution, _ b: Solution) -> Double {
        let (p, q) = (a.latitude * .pi / 180, b.latitude * .pi / 180)
        let (dp, dl) = (q - p, (b.longitude - a.longitude) * .pi / 180)
        let h = pow(sin(dp / 2), 2) + cos(p) * cos(q) * pow(sin(dl / 2), 2)
        return 2 * 6371 * asin(min(1, h.squareRoot()))
    }

    /// Groups like ComCat: when a row arrives, it joins the nearest event within 16 s and 100 km that its agency has not
    /// reported. The distance is measured to the event's preferred solution. Here, that is the solution of the agency whose name
    /// comes first.
    static func comcat(_ rows: [Solution]) -> [ExactText: Int] {
        struct Event {
            var head: Solution
            var agencies: Set<String>
        }
        var events: [Event] = []
        var byMinute: [Int64: [Int]] = [:]
        var groups: [ExactText: Int] = [:]
        for row in rows {
            let minute = row.time / 60_000
            var nearest: (event: Int, distance: Double)?
            for event in (minute - 1...minute + 1).flatMap({ byMinute[$0] ?? [] }) {
                let head = events[event].head
                let seconds = abs(Double(row.time - head.time)) / 1000
                guard seconds <= 16, !events[event].agencies.contains(row.agency) else { continue }
                let kilometres = kilometres(row, head)
                guard kilometres <= 100 else { continue }
                let distance = pow(seconds / 16, 2) + pow(kilometres / 100, 2)
                if distance < nearest?.distance ?? .infinity { nearest = (event, distance) }
            }
            if let nearest {
                groups[row.code] = nearest.event
                events[nearest.event].agencies.insert(row.agency)
                if row.agency < events[nearest.event].head.agency {
                    events[nearest.event].head = row
                    byMinute[minute, default: []].append(nearest.event)
                }
            } else {
                groups[row.code] = events.count
                byMinute[minute, default: []].append(events.count)
                events.append(Event(head: row, agencies: [row.agency]))
            }
        }
        return groups
    }

    /// Single linkage: rows within 16 s and 100 km of each other are in the same group.
    static func components(_ rows: [Solution]) -> [ExactText: Int] {
        var parents = Array(rows.indices)
        func leader(_ row: Int) -> Int {
            var row = row
            while parents[row] != row {
                parents[row] = parents[parents[row]]
                row = parents[row]
            }
            return row
        }
        var first = 0
        for index in rows.indices {
            while rows[index].time - rows[first].time > 16_000 { first += 1 }
            for other in first..<index where kilometres(rows[index], rows[other]) <= 100 {
                parents[leader(index)] = leader(other)
            }
        }
        return Dictionary(uniqueKeysWithValues: rows.indices.map { (rows[$0].code, leader($0)) })
    }

    static func association(_ rows: [Solution], _ parameters: Parameters) -> [ExactText: Int] {
        var groups: [ExactText: Int] = [:]
        let grouping = Association(parameters).earthquakes(of: rows)
        for (number, earthquake) in grouping.earthquakes.enumerated() {
            for member in earthquake.members { groups[member.code] = number }
        }
        return groups
    }
}
