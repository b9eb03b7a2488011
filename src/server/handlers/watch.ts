/**
 * GET with `watch`: the journal as a stream of lines (Kubernetes API, section 2.7). The store ends the
 * watch of a client that cannot keep up; the client watches again from its last version.
 */
import type { Writable } from 'node:stream';
import { expired, StatusError, Yielding } from '../../apimachinery/index.ts';
import type { JournalEvent } from '../../state/index.ts';
import { CompactedError, type StoredObject, type Watch } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { attributesOf, userNow } from '../filters/access.ts';
import { waitForVersion } from '../filters/freshness.ts';
import { type ListOptions, parseListOptions } from '../input/list-options.ts';
import type { Answer } from '../output/answer.ts';
import { bookmarkObject, createEventEncoder, errorLine } from '../output/event-lines.ts';
import { EventSink } from '../output/event-sink.ts';
import { type AnswerForm, type ReadyObject, readyObject } from '../output/representation.ts';
import type { PastFilter, ToldEvent } from '../past-filter.ts';
import { NamedReplay, pastFilter } from '../past-filter.ts';
import { collectionOf, type ResourceRequest } from '../request.ts';
import type { Selection } from '../selection.ts';
import { onlyNamed, seenEvent, selects } from '../selection.ts';
import { openWebSocket, wantsWebSocket } from '../websocket.ts';
import { answerForm, shownToReader } from './shared.ts';

/** Interval of the check of a watch without events. */
const ACCESS_INTERVAL_MS = 10_000;

/** Lifetime of a decision for readers of every name: events within it share one decision. */
const ACCESS_KEPT_MS = 1000;

/** Access control of a watch while it runs: its end, and the events that its reader may see. */
interface WatchWish {
  readonly selection: Selection;
  /** Returns an object in the form for this reader. */
  shown(stored: StoredObject): ReadyObject;
  /** Ends the watch when its key ends or its right is revoked. */
  end(): void;
}

const BOOKMARK_INTERVAL_MS = 60_000;
/** `--min-request-timeout` of Kubernetes: streams end after one to two times this. */
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
 * Sends the headers at once, before the first event. Undefined: the WebSocket handshake was invalid.
 */
async function begin(request: ResourceRequest): Promise<Writable | undefined> {
  const { request: asked, response } = request.raw;
  // An HTTP/2 session has set it already and refuses further calls.
  if (asked.httpVersionMajor === 1) asked.socket.setNoDelay(true);
  if (wantsWebSocket(asked)) return await openWebSocket(asked, response, request.hijack());
  // Headers set one by one would stay in memory for the time of the watch.
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
  // A timer fires after all events so far were passed to the sink. So the client has seen the newest
  // version, unless lines are still buffered.
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
  // The client may have gone meanwhile.
  if (request.closing.aborted || out.destroyed) close();
  try {
    if (!access.isOpen) return;
    const pauses = new Yielding();
    for (const stored of initial) {
      await pauses.take();
      if (!selects(options, stored)) continue;
      const full = sink.write(encode('ADDED', shown(stored)));
      if (full !== undefined) await full;
    }
    const asked = options.sendInitialEvents === true && options.allowBookmarks;
    if (asked) await bookmark(since, true);
    started = true;
    await passEvents(watch, access, { sink, encode });
  } finally {
    stopTimers();
    access.stop();
    request.closing.removeEventListener('abort', close);
    watch.close();
  }
}

async function passEvents(
  watch: Watch,
  access: WatchAccess,
  to: { sink: EventSink; encode: ReturnType<typeof createEventEncoder> },
): Promise<void> {
  for await (const event of watch.events()) {
    const told = access.next(event);
    if (told === 'end') return;
    if (told === undefined) continue;
    const full = to.sink.write(to.encode(told.type, told.ready));
    // A thousand watches wait for nothing but the next event.
    if (full !== undefined) await full;
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

/** Waits until initial events are as new as requested. Returns the error if they cannot be. */
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

/** Start version, and the initial events if the client asked for them. */
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

class WatchAccess {
  readonly #deps: ServerDependencies;
  readonly #request: ResourceRequest;
  readonly #wish: WatchWish;
  /** Newest version at the opening of the watch. */
  readonly #opened: number;
  /** Set for a reader of single names after the first event. */
  #replay: NamedReplay | undefined;
  readonly #timer: NodeJS.Timeout;
  /** Absent: the reader has the right on every name. */
  #filter: PastFilter | undefined;
  #asked = 0;
  #open = true;

  /** Checks the right again: the request may have waited since its authorization. */
  constructor(deps: ServerDependencies, request: ResourceRequest, wish: WatchWish) {
    this.#deps = deps;
    this.#request = request;
    this.#wish = wish;
    this.#opened = deps.store.resourceVersion;
    this.#check();
    this.#timer = setInterval(() => this.#check(), ACCESS_INTERVAL_MS);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Returns the event for the reader; undefined: hidden; `end`: the right is gone. */
  next(event: JournalEvent): ToldEvent | 'end' | undefined {
    const isDeletion = event.type === 'DELETED';
    if (!isDeletion && performance.now() - this.#asked >= ACCESS_KEPT_MS) this.#check();
    if (this.#filter !== undefined) return this.#replayed(event);
    const { selection, shown } = this.#wish;
    // A right that the object itself grants ends with it. The reader still gets its DELETED event.
    if (!isDeletion && !this.#open) return 'end';
    const seen = seenEvent(selection, event);
    return seen && { type: seen.type, ready: shown(seen.stored) };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #replayed(event: JournalEvent): ToldEvent | 'end' | undefined {
    const { kind } = this.#request;
    this.#replay ??= new NamedReplay({ ...this.#wish, kind, opened: this.#opened });
    return this.#replay.next(event, () => this.#filterNow());
  }

  /** Decides anew for each event: the name may belong to another object. */
  #filterNow(): PastFilter | 'end' | undefined {
    this.#check();
    return this.#open ? this.#filter : 'end';
  }

  #check(): void {
    this.#asked = performance.now();
    const attributes = attributesOf(this.#request.info, this.#deps.kinds);
    const user = this.#open ? userNow(this.#deps, this.#request, attributes) : undefined;
    this.#open = user !== undefined;
    if (user === undefined) this.#wish.end();
    else this.#filter = pastFilter(this.#deps, { ...this.#request, user });
  }
}
