/** Door of `git/`: the only file that other folders import. */
export { BareRepository } from './bare-repository.ts';
export {
  BlobTooLargeError,
  GitError,
  ObjectTypeError,
  PathError,
  RefLockedError,
  StorageError,
} from './git-error.ts';
export { initRepository } from './init-repository.ts';
export { type GitLogger, silent } from './logger.ts';
export { Maintenance } from './maintenance/maintenance.ts';
export type { SignCommit } from './objects/commit-object.ts';
export { parseFileList } from './objects/file-list.ts';
export { objectId } from './objects/object-id.ts';
export { encodePath } from './objects/path-text.ts';
export { pathFlaw } from './objects/tree-path.ts';
export { openRepository } from './open-repository.ts';
export { exportPack, importPacks, PackTooLargeError } from './packs/pack-import-export.ts';
export { packFolder } from './packs/pack-names.ts';
export { buildPack } from './packs/pack-writer.ts';
export {
  type GitContext,
  inheritedEnvironment,
  MAX_PUSH_BYTES,
} from './process/git-environment.ts';
export { gitLines, runGit, tryGit } from './process/git-process.ts';
export { tryWalk } from './process/git-walk.ts';
export { startLauncher } from './process/launcher.ts';
export { limitedCommand, NOT_FOUND } from './process/limited-command.ts';
export { GitLimitError, gitMemoryMib, limitGitMemory } from './process/process-limits.ts';
export { realFiles } from './publication/durable-files.ts';
export type { Gate, Publication } from './publication/publisher.ts';
export { gitDirOf, type OpenedReader, openReader, readOnlyRepository } from './read-only.ts';
export { BlobStream } from './reading/blob-stream.ts';
export { changedPaths, type MergeSource, ownPaths } from './reading/changed-paths.ts';
export { grepRevision } from './reading/grep.ts';
export { type Branch, listBranches } from './reading/list-branches.ts';
export {
  damageRemedy,
  historyDamage,
  type PackFiles,
  packDamage,
  packFileChanges,
  packFiles,
  tipDamage,
} from './reading/object-check.ts';
export { Reader } from './reading/reader.ts';
export { isOnSomeRef, resolveCommit } from './reading/resolve-commit.ts';
export { moveRef } from './refs/move-ref.ts';
export { readRef } from './refs/ref-file.ts';
export { REF_LOCK_FOLDER } from './refs/ref-lock.ts';
export { watchRef } from './refs/ref-watch.ts';
export { removeStaleLocks } from './refs/stale-lock.ts';
export type { RemoteAccess } from './remote/access.ts';
export { parseRemoteAddress, type RemoteAddress } from './remote/address.ts';
export { FencedRemote } from './remote/fenced-remote.ts';
export { Following, type FollowingObserver, stopFollowing } from './remote/following.ts';
export { Remote, type RemoteOptions } from './remote/remote.ts';
export { RemoteError } from './remote/remote-error.ts';
export { type TrialMerge, withTrialMerge } from './remote/trial-merge.ts';
export { WriteBranch } from './remote/write-branch.ts';
export {
  type CommitBatch,
  type FileChange,
  type FileTake,
  HeadMovedError,
  type HistoryCommit,
  type PathChange,
  type PathSelection,
  type Person,
  type PushObjection,
  type Repository,
  type TreeFile,
} from './repository.ts';
export { installHooks } from './serve/hook.ts';
export type { PushRequest, PushVerdict, RefMove, RefUpdate } from './serve/hook-protocol.ts';
export { listenForPushes, pushSocketPath } from './serve/hook-server.ts';
export { NewestTips } from './serve/newest-tips.ts';
export type { OfferedTips } from './serve/push-advertisement.ts';
export { refObjections } from './serve/pushed-refs.ts';
export { withQuarantine } from './serve/quarantine.ts';
export type { ServedHooks } from './serve/served-hooks.ts';
export {
  advertiseRefs,
  type GitService,
  isGitService,
  type ServeOptions,
  serveRpc,
  serviceInput,
} from './serve/smart-http.ts';
export type { Agreement } from './wal/wal-publisher.ts';
export { replayWal } from './wal/wal-replay.ts';
