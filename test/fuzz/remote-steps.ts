/** People at the remote: they push to the branch for writes, take commits back, and review. */
import type { Act } from './episode.ts';
import { allowedTargets, anyTarget, bare, type Player } from './player.ts';
import { BRANCH } from './push-client.ts';
import { copied, pickChange } from './push-steps.ts';
import { ReviewEpisode, WRITES } from './review-episode.ts';
import { labelled } from './write-steps.ts';

type Way = (player: Player, episode: ReviewEpisode) => Promise<string> | string;

const WAYS: readonly (readonly [weight: number, way: Way])[] = [
  [14, pushed],
  [4, takenBack],
  [1, discarded],
  [7, merged],
  [3, pushedToFollowed],
  [1, restarted],
];
const ALL_WAYS = WAYS.flatMap(([weight, way]) => Array<Way>(weight).fill(way));

export function remoteStep(player: Player): Act {
  const { random } = player;
  const episode = reviewed(player);
  const act: Act & { label: string } = {
    ...bare(player, { label: 'remote', verb: 'remote' }),
    road: { by: 'remote' },
    send: async () => {
      const way = random.pick(ALL_WAYS);
      act.label = `${way.name} ${await way(player, episode)}`;
      await episode.settleRemote();
      return { code: 200, text: '' };
    },
  };
  return act;
}

/** Files of others, among them copies and former versions of what the daemon wrote. */
async function pushed(player: Player, episode: ReviewEpisode): Promise<string> {
  const files = await pickChange(player);
  episode.noteForeign(player.person, files);
  episode.commit(WRITES, files);
  return JSON.stringify(files).slice(0, 4000);
}

/** A write to what waits for a review with encrypted values of another object, which others put there. */
export function copyStep(player: Player): Act {
  const { random } = player;
  const episode = reviewed(player);
  const secrets = allowedTargets(player, 'patch').filter(({ plural }) =>
    plural.endsWith('secrets'),
  );
  const target = secrets.length > 0 ? random.pick(secrets) : anyTarget(player);
  const write = labelled(player, target);
  return {
    ...write,
    send: async () => {
      const files = copied(player, target);
      episode.noteForeign(player.person, files);
      episode.commit(WRITES, files);
      await episode.settleRemote();
      return await write.send();
    },
  };
}

function reviewed({ episode }: Player): ReviewEpisode {
  if (episode instanceof ReviewEpisode) return episode;
  throw new Error('There is no remote');
}

function takenBack({ random }: Player, episode: ReviewEpisode): string {
  const { head } = random.pick(episode.repository.recent);
  episode.takeBack(head);
  return head;
}

function discarded(_: Player, episode: ReviewEpisode): string {
  episode.takeBack();
  return '';
}

/** Reviewers merge all of it, or an earlier commit, with its commits or as one. */
function merged({ random }: Player, episode: ReviewEpisode): string {
  const { repository } = episode;
  const tip = random.chance(0.8) ? repository.head : random.pick(repository.recent).head;
  const isDone = episode.merge(tip, random.chance(0.4));
  if (!isDone || random.chance(0.4)) episode.takeBack();
  return `${tip} ${isDone ? '' : 'with conflicts'}`;
}

async function pushedToFollowed(player: Player, episode: ReviewEpisode): Promise<string> {
  const { repository, followed } = episode;
  const newest = repository.at;
  repository.at = followed.at;
  const files = await pickChange(player);
  repository.at = newest;
  episode.noteFollowed(player.person, files);
  episode.commit(BRANCH, files);
  return JSON.stringify(files).slice(0, 4000);
}

async function restarted(_: Player, episode: ReviewEpisode): Promise<string> {
  await episode.restart();
  return '';
}
