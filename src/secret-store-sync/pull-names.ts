/** Names of the objects that a pull makes of paths of a store. */
import { dnsSubdomainProblems } from '../apimachinery/index.ts';

/** The name by a template; `path` is below the path of the pull. What a name cannot have becomes `-`. */
export function nameOf(template: string, path: string): string {
  const own = path.slice(path.lastIndexOf('/') + 1);
  return template
    .replace(/\{(path|name)\}/g, (_all, part) => (part === 'path' ? path : own))
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '');
}

/** Undefined: an object can have the name. */
export function nameProblem(name: string): string | undefined {
  const [problem] = dnsSubdomainProblems(name);
  return (
    problem && `its name would be ${JSON.stringify(name)}, which no object can have: ${problem}`
  );
}
