//! Prefetchers: which lines are likely to be asked for next.

use super::hierarchy::{Line, Why};
use crate::processor::Prefetch;

/// Instructions whose strides are followed.
const STRIDES: usize = 256;
/// Pages whose streams are followed.
const STREAMS: usize = 32;
/// Lines of a page.
const PAGE: u64 = 64;
/// Lines by which an access may come behind younger ones of its stream.
const LATE: i64 = 16;

/// Lines that are wanted after an access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    lines: [Line; Prefetch::MOST],
    count: usize,
}

impl Wanted {
    fn push(&mut self, line: Line) {
        if let Some(place) = self.lines.get_mut(self.count) {
            *place = line;
            self.count += 1;
        }
    }
}

impl std::ops::Deref for Wanted {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.lines[..self.count]
    }
}

/// The prefetchers of one cache.
#[derive(Debug)]
pub struct Prefetcher {
    next_line: bool,
    stride: Option<(i64, Vec<Stride>)>,
    stream: Option<(Reach, Vec<Stream>)>,
}

/// How far the streams of pages are run ahead of.
#[derive(Clone, Copy, Debug)]
struct Reach {
    distance: i64,
    degree: i64,
    crosses: bool,
}

/// Where an instruction goes.
#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    /// Its address.
    instruction: u64,
    latest: Line,
    stride: i64,
    sure: u8,
}

/// Where accesses to a page go.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    page: u64,
    latest: i64,
    direction: i64,
    sure: u8,
    /// The farthest line that was asked for.
    farthest: i64,
}

impl Prefetcher {
    /// Prefetchers of these kinds.
    pub fn new(kinds: &[Prefetch]) -> Prefetcher {
        let mut made = Prefetcher { next_line: false, stride: None, stream: None };
        for &kind in kinds {
            match kind {
                Prefetch::NextLine => made.next_line = true,
                Prefetch::Stride { distance } => {
                    made.stride = Some((distance, vec![Stride::default(); STRIDES]));
                }
                Prefetch::Stream { distance, degree, crosses } => {
                    let reach = Reach { distance, degree, crosses };
                    made.stream = Some((reach, vec![Stream::default(); STREAMS]));
                }
            }
        }
        made
    }

    /// Sees an access and tells the lines that it leads to expect.
    #[inline]
    pub fn observe(&mut self, line: Line, why: Why, is_miss: bool) -> Wanted {
        let mut wanted = Wanted::default();
        if self.next_line
            && is_miss
            && !matches!(why, Why::Walk | Why::Prefetch)
            && !(line + 1).is_multiple_of(PAGE)
        {
            wanted.push(line + 1);
        }
        if let (Some((distance, strides)), Why::Load(instruction) | Why::Store(instruction)) =
            (&mut self.stride, why)
        {
            let entry = &mut strides[(instruction % STRIDES as u64) as usize];
            if entry.instruction != instruction {
                *entry = Stride { instruction, latest: line, ..Stride::default() };
            } else if entry.latest != line {
                let stride = line.wrapping_sub(entry.latest) as i64;
                entry.sure = if stride == entry.stride { (entry.sure + 1).min(3) } else { 0 };
                (entry.stride, entry.latest) = (stride, line);
                if entry.sure >= 2 && stride.unsigned_abs() < 64 {
                    wanted.push(line.wrapping_add_signed(stride * *distance));
                }
            }
        }
        let data = matches!(why, Why::Load(_) | Why::Store(_) | Why::Prefetch);
        if let Some((reach, streams)) = self.stream.as_mut().filter(|_| data) {
            stream(streams, *reach, line, &mut wanted);
        }
        wanted
    }

    /// Takes back that a line is wanted: it was not asked for, and is wanted again with the stream's next access.
    pub fn refuse(&mut self, line: Line) {
        let Some((_, streams)) = &mut self.stream else { return };
        let Some(stream) = streams.first_mut().filter(|stream| stream.direction != 0) else { return };
        let reached = line as i64 - (stream.page * PAGE) as i64 - stream.direction;
        if stream.direction > 0 {
            stream.farthest = stream.farthest.min(reached);
        } else {
            stream.farthest = stream.farthest.max(reached);
        }
    }
}

fn stream(streams: &mut [Stream], reach: Reach, line: Line, wanted: &mut Wanted) {
    let (page, at) = (line / PAGE, (line % PAGE) as i64);
    let Some(found) = streams.iter().position(|stream| stream.page == page && stream.sure > 0) else {
        // A stream that came to the end of the page before goes on.
        let goes_on =
            |stream: &&Stream| stream.sure > 1 && stream.page.wrapping_add_signed(stream.direction) == page;
        let before = streams.iter().find(goes_on).copied();
        streams.rotate_right(1);
        streams[0] = Stream { page, latest: at, direction: 0, sure: 1, farthest: at };
        if let Some(Stream { direction, farthest, .. }) = before {
            let reached = (farthest - PAGE as i64 * direction) * direction;
            let farthest = reached.max(at * direction) * direction;
            streams[0] = Stream { direction, sure: 2, farthest, ..streams[0] };
            ahead(&mut streams[0], reach, wanted);
        }
        return;
    };
    streams[..=found].rotate_right(1);
    let stream = &mut streams[0];
    let direction = (at - stream.latest).signum();
    // What comes out of order lies where the stream has been, or in what was asked for: it says nothing new.
    let is_late = stream.sure > 1 && direction != stream.direction && (at - stream.latest).abs() <= LATE;
    if direction == 0 || is_late {
        return;
    }
    if direction == stream.direction {
        stream.sure = (stream.sure + 1).min(4);
    } else {
        (stream.direction, stream.sure, stream.farthest) = (direction, 1, at);
    }
    stream.latest = at;
    if stream.sure > 1 {
        ahead(stream, reach, wanted);
    }
}

/// Asks for the next lines of a stream.
fn ahead(stream: &mut Stream, reach: Reach, wanted: &mut Wanted) {
    let Stream { page, latest, direction, .. } = *stream;
    for _ in 0..reach.degree {
        let reached = stream.farthest;
        let line = if direction > 0 { reached.max(latest) } else { reached.min(latest) } + direction;
        let ends = !reach.crosses && !(0..PAGE as i64).contains(&line);
        if (line - latest).abs() > reach.distance || ends {
            break;
        }
        stream.farthest = line;
        wanted.push((page * PAGE).wrapping_add_signed(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(prefetcher: &mut Prefetcher, line: Line) -> Vec<Line> {
        prefetcher.observe(line, Why::Load(3), true).to_vec()
    }

    #[test]
    fn strides_are_followed_once_they_are_sure() {
        let mut prefetcher = Prefetcher::new(&[Prefetch::Stride { distance: 4 }]);
        let wanted: Vec<Vec<Line>> =
            [10, 13, 16, 19, 22].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted, [vec![], vec![], vec![], vec![31], vec![34]]);
        assert!(wants(&mut prefetcher, 90).is_empty());
    }

    #[test]
    fn streams_run_ahead_within_a_page() {
        let mut prefetcher = Prefetcher::new(&[Prefetch::Stream { distance: 4, degree: 2, crosses: false }]);
        let wanted: Vec<Vec<Line>> =
            [64, 65, 66, 67, 126].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[..3], [vec![], vec![], vec![67, 68]]);
        assert_eq!(wanted[3], [69, 70]);
        assert_eq!(wanted[4], [127], "the page ends");
        assert_eq!(wants(&mut prefetcher, 128), [129, 130], "and the stream goes on in the next");
        let down: Vec<Vec<Line>> =
            [700, 699, 698].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(down[2], [697, 696]);
    }

    #[test]
    fn streams_bear_accesses_out_of_order() {
        let stream = Prefetch::Stream { distance: 4, degree: 2, crosses: false };
        let mut prefetcher = Prefetcher::new(&[stream]);
        let wanted: Vec<Vec<Line>> =
            [64, 65, 68, 66, 69].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[2..], [vec![69, 70], vec![], vec![71, 72]], "66 does not turn the stream");
    }

    #[test]
    fn what_is_refused_is_wanted_again() {
        let stream = Prefetch::Stream { distance: 8, degree: 2, crosses: false };
        let mut prefetcher = Prefetcher::new(&[stream]);
        let wanted: Vec<Vec<Line>> =
            [64, 65, 66].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[2], [67, 68]);
        prefetcher.refuse(68);
        assert_eq!(wants(&mut prefetcher, 67), [68, 69]);
    }

    #[test]
    fn streams_may_run_ahead_into_the_next_page() {
        let stream = Prefetch::Stream { distance: 4, degree: 2, crosses: true };
        let mut prefetcher = Prefetcher::new(&[stream]);
        let wanted: Vec<Vec<Line>> =
            [124, 125, 126, 127, 128].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[2..], [vec![127, 128], vec![129, 130], vec![131, 132]]);
        let mut prefetcher = Prefetcher::new(&[stream]);
        let down: Vec<Vec<Line>> =
            [130, 129, 128, 127].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(down[2..], [vec![127, 126], vec![125, 124]]);
    }
}
