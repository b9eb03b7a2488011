/**
 * GET with `watch`: the journal as a stream of lines (Kubernetes API, section 2.7). A reader that
 * cannot keep up is ended by the store, never waited for; clients watch again from where they were.
 */
import type { Writable } from 'node:stream';
import { expired, StatusError, Yielding } from '../../apimachinery/index.ts';
import { CompactedError, type StoredObject, type Watch } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { waitForVersion } from '../filters/freshness.ts';
import { type ListOptions, parseListOptions } from '../input/list-options.ts';
import type { Answer } from '../output/answer.ts';
import { bookmarkObject, createEventEncoder, errorLine } from '../output/event-lines.ts';
import { EventSink } from '../output/event-sink.ts';
import { type AnswerForm, type ReadyObject, readyObject } from '../output/representation.ts';
import { collectionOf, type ResourceRequest } from '../request.ts';
import { onlyNamed, selects } from '../selection.ts';
import { openWebSocket, wantsWebSocket } from '../websocket.ts';
import { answerForm, shownToReader } from './shared.ts';
import { WatchAccess } from './watch-access.ts';

const BOOKMARK_INTERVAL_MS = 60_000;
/** Kubernetes' `--min-request-timeout`; streams end between one and two times of it. */
const SHORTEST_STREAM_SECONDS = 1800;

export async function handleWatch(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer | undefined> {
  const form = answerForm(deps, request, 'watch');
  const asked = parseListOptions(request.info.query, request.kind, 'watch');
  const { name } = request.info;
  const options = name === '' ? asked : { ...asked, fields: onlyNamed(asked.fields, name) };
  const out = await begin(request);
  if (out === undefined) return undefined;
  const labels = { resource: request.kind.plural };
  deps.metrics.watches.inc(labels);
  try {
    await stream(deps, { request, form, options, out });
  } finally {
    deps.metrics.watches.dec(labels);
    out.end();
  }
  return undefined;
}

/**
 * Headers go out at once: a client must know that it watches before anything happens. Undefined: the
 * client asked for a WebSocket in a wrong way.
 */
async function begin(request: ResourceRequest): Promise<Writable | undefined> {
  const { request: asked, response } = request.raw;
  // HTTP/2 has done so for its connection, and lets nobody else do it.
  if (asked.httpVersionMajor === 1) asked.socket.setNoDelay(true);
  if (wantsWebSocket(asked)) return await openWebSocket(asked, response, request.hijack());
  // Headers that are set one by one stay in memory as long as the watch does.
  response.writeHead(200, {
    ...Object.fromEntries(request.hijack()),
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
  });
  response.flushHeaders();
  return response;
}

interface Stream {
  readonly request: ResourceRequest;
  readonly form: AnswerForm;
  readonly options: ListOptions;
  readonly out: Writable;
}

async function stream(deps: ServerDependencies, to: Stream): Promise<void> {
  const { request, options, out } = to;
  const sink = new EventSink(out, wantsWebSocket(request.raw.request));
  const encode = createEventEncoder(request.kind, to.form);
  const tooLarge = await fromTheFuture(deps, to);
  if (tooLarge !== undefined) {
    await sink.write(errorLine(tooLarge.toStatus()));
    return;
  }
  const { since, initial } = startOf(deps, to);
  const watch = openWatch(deps, request, since);
  if (watch instanceof CompactedError) {
    await sink.write(errorLine(expired(watch.message).toStatus()));
    return;
  }
  // Timers fire when every event so far has been handed to the sink, so the newest version is
  // what the client has seen, unless lines still wait for it.
  const bookmark = async (resourceVersion: number, initialEventsEnd: boolean): Promise<void> => {
    const object = bookmarkObject(request.kind, { resourceVersion, initialEventsEnd });
    await sink.write(encode('BOOKMARK', readyObject(object)));
  };
  let started = false;
  const tick = (): void => {
    if (!started || sink.behind || !options.allowBookmarks) return;
    void bookmark(Math.max(deps.store.resourceVersion, since), false);
  };
  const close = (): void => watch.close();
  const stopTimers = startTimers(options, { watch, tick });
  const shown = (ready: StoredObject): ReadyObject =>
    shownToReader(deps, request, { ready, name: ready.key.name });
  const access = new WatchAccess(deps, request, { selection: options, shown, end: close });
  out.on('close', close);
  request.closing.addEventListener('abort', close);
  if (request.closing.aborted) close();
  try {
    if (!access.isOpen) return;
    const pauses = new Yielding();
    for (const stored of initial) {
      await pauses.take();
      if (selects(options, stored)) await sink.write(encode('ADDED', shown(stored)));
    }
    const asked = options.sendInitialEvents === true && options.allowBookmarks;
    if (asked) await bookmark(since, true);
    started = true;
    for await (const event of watch.events()) {
      const told = access.next(event);
      if (told === 'end') break;
      if (told !== undefined) await sink.write(encode(told.type, told.ready));
    }
  } finally {
    stopTimers();
    access.stop();
    request.closing.removeEventListener('abort', close);
    watch.close();
  }
}

function openWatch(
  deps: ServerDependencies,
  request: ResourceRequest,
  since: number,
): Watch | CompactedError {
  try {
    return deps.store.watch(collectionOf(request), since);
  } catch (error) {
    if (error instanceof CompactedError) return error;
    throw error;
  }
}

/** Initial events are not older than asked for; why they cannot be, if they cannot. */
async function fromTheFuture(
  deps: ServerDependencies,
  { request, options }: Stream,
): Promise<StatusError | undefined> {
  const { sendInitialEvents, resourceVersion: wanted } = options;
  if (sendInitialEvents !== true || wanted === undefined) return undefined;
  try {
    await waitForVersion(deps, request, wanted);
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

/** Where to begin, and what there already is for a client that asked to be shown it. */
function startOf(
  deps: ServerDependencies,
  { request, options }: Stream,
): { since: number; initial: ReturnType<typeof deps.store.list>['items'] } {
  const { resourceVersion: wanted, sendInitialEvents } = options;
  const fromState =
    sendInitialEvents === true ||
    (sendInitialEvents === undefined && (wanted === undefined || wanted === 0));
  if (!fromState) return { since: wanted ?? deps.store.resourceVersion, initial: [] };
  const list = deps.store.list(collectionOf(request));
  return { since: list.resourceVersion, initial: list.items };
}

function startTimers(options: ListOptions, on: { watch: Watch; tick: () => void }): () => void {
  const seconds = options.timeoutSeconds ?? SHORTEST_STREAM_SECONDS * (1 + Math.random());
  const end = setTimeout(() => {
    on.tick();
    on.watch.close();
  }, seconds * 1000);
  const beat = options.allowBookmarks ? setInterval(on.tick, BOOKMARK_INTERVAL_MS) : undefined;
  return () => {
    clearTimeout(end);
    clearInterval(beat);
  };
}
