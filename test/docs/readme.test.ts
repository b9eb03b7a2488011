/** The tour of the README works as it is written, against the real daemon. */
import { describePages } from './page.ts';

describePages('the tour', ['README.md']);
