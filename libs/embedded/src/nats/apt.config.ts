import type { DebianMirror } from './apt.sources.js';

/**
 * apt with nothing of its own: sources, lists, cache and state are private folders, so that the machine's package system is neither read
 * (but for its proxy settings) nor changed. Hooks of the machine that run after an update are cleared. A mirror may be up to 90 days
 * behind the archive (Debian's own limit is a week): signatures and checksums are verified all the same, and our caller the version.
 */
export const aptConfig = (workDir: string): string => `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
Dir::Etc::SourceList "${workDir}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "${workDir}/state";
Dir::State::Lists "${workDir}/state/lists";
Dir::State::Status "${workDir}/state/status";
Dir::Cache "${workDir}/cache";
Acquire::Min-ValidTime "7776000";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
`;

/** One suite of one archive, verified by the distribution's keyring. */
export const aptSourceLine = ({ uri, signedBy }: DebianMirror, suite: string): string =>
  `deb [signed-by=${signedBy}] ${uri} ${suite} main\n`;
