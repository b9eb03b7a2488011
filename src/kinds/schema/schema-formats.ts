/** The formats of texts and numbers that schemas name. */
import type { Format } from 'ajv';
import { fastFormats } from 'ajv-formats/dist/formats.js';

export const formats: Readonly<Record<string, Format>> = {
  'date-time': fastFormats['date-time'] as Format,
  // What JSON numbers can hold exactly; beyond it a value would change on its way through.
  int64: { type: 'number', validate: Number.isSafeInteger },
  int32: { type: 'number', validate: (value: number) => (value | 0) === value },
};
