/** Properties of every tab of an object. */
import type { KubeObject, Resource } from '../../api/objects.ts';
import type { Remembered } from '../memory.ts';

export interface ObjectTabProps {
  readonly resource: Resource;
  readonly of: Remembered;
  /** Undefined: it does not exist at the moment that is shown. */
  readonly object: KubeObject | undefined;
}
