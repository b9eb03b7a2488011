/** Everything that is no object: health, version, discovery, OpenAPI, schemas, metrics, keys. */
import { noSuchRoute } from '../apimachinery/status-error.ts';
import { schemaDocument, schemaNames } from '../kinds/schema-files.ts';
import { type Answer, jsonAnswer, textAnswer } from './answer.ts';
import type { ServerDependencies } from './dependencies.ts';
import { answerHealth } from './health.ts';
import type { ApiRequest } from './request.ts';

type Document = (
  deps: ServerDependencies,
  request: ApiRequest,
) => Answer | undefined | Promise<Answer>;

/** Asked in order; the first that answers does. */
const DOCUMENTS: readonly Document[] = [health, metrics, schemas, keys];

/** Throws 404. Access was decided before. */
export async function answerDocument(
  deps: ServerDependencies,
  request: ApiRequest,
): Promise<Answer> {
  for (const document of DOCUMENTS) {
    const answer = await document(deps, request);
    if (answer !== undefined) return answer;
  }
  throw noSuchRoute();
}

function health(deps: ServerDependencies, { info }: ApiRequest): Answer | undefined {
  const found = answerHealth(deps.health, info.path, info.query);
  return found && textAnswer(found.text, found.code);
}

async function metricsText(deps: ServerDependencies): Promise<Answer> {
  const { registry } = deps.metrics;
  return { code: 200, contentType: registry.contentType, body: await registry.metrics() };
}

function metrics(deps: ServerDependencies, { info }: ApiRequest): Promise<Answer> | undefined {
  return info.path === '/metrics' ? metricsText(deps) : undefined;
}

const SCHEMA_PATH = /^\/schemas\/([\w-]+)\.json$/;

/** The schemas as editors and validators fetch them. */
function schemas(_deps: ServerDependencies, { info }: ApiRequest): Answer | undefined {
  if (info.path === '/schemas') return jsonAnswer(schemaNames().map((name) => `${name}.json`));
  const name = SCHEMA_PATH.exec(info.path)?.[1];
  if (name === undefined || !schemaNames().includes(name)) return undefined;
  const body = JSON.stringify(schemaDocument(name), null, 2);
  return { code: 200, contentType: 'application/schema+json', body };
}

function keys(deps: ServerDependencies, { info }: ApiRequest): Answer | undefined {
  return info.path === '/.well-known/jwks.json' ? jsonAnswer(deps.jwks()) : undefined;
}
