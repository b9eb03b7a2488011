/**
 * Signing in, in this process: a platform with access control, the routes below /auth, and a browser
 * that keeps cookies. Configurations are put into force by `configure`.
 */
import fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify';
import { onTestFinished, vi } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { FailedLogins } from '../../src/auth/rate-limits/failed-logins.ts';
import { ConfigFeed } from '../../src/config/config-feed.ts';
import { openSignIn, type SignInService } from '../../src/daemon/sign-in/sign-in-service.ts';
import { parseConfigRaw } from '../../src/kinds/config/config-raw.ts';
import type { ServerDependencies } from '../../src/server/dependencies.ts';
import { toStatusError } from '../../src/server/errors.ts';
import { authenticateRequest } from '../../src/server/filters/access.ts';
import { registerSignIn } from '../../src/server/sign-in/routes.ts';
import type { ConnectorFactories } from '../../src/sign-in/connectors/factories.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { git } from './git.ts';
import { type GuardedPlatform, openGuardedPlatform } from './guarded-platform.ts';
import { kinds } from './platform.ts';

export const BASE_URL = 'https://platform.example';

/** A clock that tests move. */
export class TestClock {
  ms = Date.parse('2026-03-01T12:00:00Z');

  now(): number {
    return this.ms;
  }
}

export interface SignInPlatform {
  readonly guarded: GuardedPlatform;
  readonly clock: TestClock;
  readonly app: FastifyInstance;
  readonly service: SignInService;
  /** Lines of the log. */
  readonly log: string[];
  /** Puts a text in YAML, or its structure, into force. Throws for one that is not valid. */
  configure(config: string | object): void;
  /** Lets other writes land before the next create, which has been judged. */
  beforeNextCreate(act: () => Promise<unknown>): void;
  /** With an empty jar. */
  browser(): Browser;
  /** Commits on the branch, newest first: subjects. */
  subjects(): string[];
}

export async function openSignInPlatform(
  of: { baseUrl?: string; factories?: ConnectorFactories } = {},
): Promise<SignInPlatform> {
  const { baseUrl = BASE_URL, factories } = of;
  const clock = new TestClock();
  const limits: { accessKeyMaxTTLSeconds?: number } = {};
  const guarded = await openGuardedPlatform(clock, limits);
  const { platform, access } = guarded;
  const config = new ConfigFeed({
    environment: {},
    onError: (error) => {
      throw error;
    },
  });
  const log: string[] = [];
  const logger = createLogger('debug', { write: (line) => log.push(line) });
  const { store, registry } = platform;
  const service = openSignIn({
    ...{ kinds, store, registry, served: registry, access, config, clock, logger },
    publicUrl: () => baseUrl,
    isPublicUrlGiven: true,
    ...(factories === undefined ? {} : { factories }),
  });
  onTestFinished(() => service.close());
  service.start();
  const app = fastify({ genReqId: () => 'request-1' });
  onTestFinished(() => app.close());
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const deps = {
    ...{ config, clock, logger, kinds, store, registry },
    signIn: service.signIn,
    authenticate: service.trackUse(access.authenticate),
    authorizer: access.authorizer,
    failedLogins: new FailedLogins(clock),
    audit: {
      isOn: false,
      begin: () => undefined,
      relay: () => undefined,
      find: async () => undefined,
    },
    root: '/kubernetes/management',
  } as unknown as ServerDependencies;
  registerSignIn(app, deps);
  app.setErrorHandler((error, _request, reply) => {
    const { status } = toStatusError(error);
    return reply.code(status.code).send(status.toStatus());
  });
  // As every route of the API authenticates.
  app.all('/who', (request, reply) => reply.send(authenticateRequest(deps, request, 'bearer')));
  return {
    ...{ guarded, clock, app, service, log },
    configure: (wanted) => {
      const raw = typeof wanted === 'string' ? wanted : JSON.stringify(wanted);
      const { status, problems } = parseConfigRaw(raw);
      if (problems.length > 0) throw new Error(problems.map(({ message }) => message).join('\n'));
      config.offer(structuredClone(status) as JsonObject, false);
      const { accessKeyMaxTTLSeconds, loginAccessKeyTTLSeconds } = config.current.auth;
      Object.assign(limits, { accessKeyMaxTTLSeconds, loginAccessKeyTTLSeconds });
    },
    beforeNextCreate: (act) => {
      const create = registry.create.bind(registry);
      vi.spyOn(registry, 'create').mockImplementationOnce(async (request) => {
        await act();
        return await create(request);
      });
    },
    browser: () => new Browser(app),
    subjects: () => subjectsOf(platform.repository.gitDir),
  };
}

function subjectsOf(gitDir: string): string[] {
  return git(gitDir, ['log', '--format=%s', 'HEAD']).trim().split('\n');
}

/** Keeps the cookies of one host, and follows nothing by itself. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly #app: FastifyInstance;

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  get session(): string | undefined {
    return this.cookies.get('__Host-session') ?? this.cookies.get('gitplane-session');
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return await this.#send({ method: 'GET', url, headers });
  }

  async post(
    url: string,
    body: Record<string, string> | string,
    headers: Record<string, string> = {},
  ): Promise<LightMyRequestResponse> {
    const payload = typeof body === 'string' ? body : new URLSearchParams(body).toString();
    const type = typeof body === 'string' ? 'application/json' : FORM;
    return await this.#send({
      method: 'POST',
      url,
      payload,
      headers: { 'content-type': type, ...headers },
    });
  }

  async #send(of: {
    method: 'GET' | 'POST';
    url: string;
    payload?: string;
    headers: Record<string, string>;
  }): Promise<LightMyRequestResponse> {
    const jar = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(jar === '' ? {} : { cookie: jar }), ...of.headers };
    const answer = await this.#app.inject({ ...of, headers });
    for (const { name, value, maxAge } of answer.cookies) {
      if (maxAge === 0) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}

const FORM = 'application/x-www-form-urlencoded';
