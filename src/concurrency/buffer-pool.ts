/**
 * Node cuts small buffers out of shared blocks of 8 KiB, and a block lives as long as any part of it. A
 * write makes dozens of small buffers that live for a moment, and a few that live as long as the object:
 * each of those would hold a whole block.
 */

/** Buffers of half of this and more have memory of their own. */
const BLOCK_BYTES = 1024;

/** Takes effect with the next block. */
export function shrinkBufferPool(): void {
  Buffer.poolSize = BLOCK_BYTES;
}
