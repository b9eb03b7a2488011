/** PNG files with a palette: a page of the console has few colors, and a byte per pixel is a third of the size. */
import { crc32, deflateSync } from 'node:zlib';

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue, alpha of each pixel. */
  readonly data: Uint8Array;
}

const MOST_COLORS = 256;

/** The picture with 256 colors at most: frequent colors stay exact, rare ones become the nearest of them. */
export function encodePng(pixels: Pixels): Buffer {
  const counts = countColors(pixels);
  const palette = chooseColors(counts);
  const indexes = new Map(
    [...counts.keys()].map((color) => [color, nearest(palette, color).index] as const),
  );
  const { width, height } = pixels;
  // Each row has the byte of its filter first: none.
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows[y * (width + 1) + x + 1] = indexes.get(colorAt(pixels, y * width + x)) ?? 0;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function colorAt({ data }: Pixels, at: number): number {
  const channel = (offset: number): number => data[at * 4 + offset] ?? 0;
  return channel(0) * 0x10000 + channel(1) * 0x100 + channel(2);
}

function countColors(pixels: Pixels): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.width * pixels.height; at += 1) {
    const color = colorAt(pixels, at);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  return counts;
}

/** The most frequent colors that are far enough from each other, with the smallest such distance. */
function chooseColors(counts: ReadonlyMap<number, number>): readonly number[] {
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([color]) => color);
  for (let least = 0; ; least = least * 2 + 1) {
    const chosen: number[] = [];
    for (const color of byCount) {
      if (chosen.length > MOST_COLORS) break;
      if (nearest(chosen, color).distance > least || least === 0) chosen.push(color);
    }
    if (chosen.length <= MOST_COLORS) return chosen;
  }
}

function nearest(
  palette: readonly number[],
  color: number,
): { readonly index: number; readonly distance: number } {
  const [red, green, blue] = channels(color);
  let found = { index: 0, distance: Number.POSITIVE_INFINITY };
  for (const [index, other] of palette.entries()) {
    const [otherRed, otherGreen, otherBlue] = channels(other);
    const distance = (red - otherRed) ** 2 + (green - otherGreen) ** 2 + (blue - otherBlue) ** 2;
    if (distance < found.distance) found = { index, distance };
  }
  return found;
}

function channels(color: number): [number, number, number] {
  return [color >> 16, (color >> 8) & 0xff, color & 0xff];
}
