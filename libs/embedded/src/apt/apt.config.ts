import { join } from 'node:path';
import type { DebianMirror } from './apt.sources.js';

/**
 * apt with sources, lists, cache and state in private folders: the machine's package system is not changed, and only
 * its proxy settings and, if `installed` names dpkg's list, its installed packages are read. The machine's hooks after
 * an update are cleared. A mirror may be up to 90 days behind the archive (Debian's own limit is a week): signatures
 * and checksums are still verified, and the caller checks the version.
 */
export const aptConfig = (
  workDir: string,
  installed = join(workDir, 'state', 'status'),
): string => `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
Dir::Etc::SourceList "${workDir}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "${workDir}/state";
Dir::State::Lists "${workDir}/state/lists";
Dir::State::Status "${installed}";
Dir::Cache "${workDir}/cache";
Acquire::Min-ValidTime "7776000";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
APT::Install-Recommends "false";
Debug::NoLocking "true";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
`;

/** One suite of one archive, verified by the distribution's keyring. */
export const aptSourceLine = ({ uri, signedBy }: DebianMirror, suite: string): string =>
  `deb [signed-by=${signedBy}] ${uri} ${suite} main\n`;
