/** Formats of texts and numbers in schemas. */
import type { Format } from 'ajv';
import { fastFormats } from 'ajv-formats/dist/formats.js';

export const formats: Readonly<Record<string, Format>> = {
  'date-time': fastFormats['date-time'],
  // A JSON number holds these exactly. A larger one would lose digits.
  int64: { type: 'number', validate: Number.isSafeInteger },
  int32: { type: 'number', validate: (value: number) => (value | 0) === value },
};
