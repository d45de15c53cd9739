import { hostPath } from './quote.js';

/** On hosts: the epoch of the installation that took over last; absent: none did. */
export const EPOCH_FILE = '/etc/fairlead/epoch';

const SHEBANG = '#!/bin/sh\n';

const guard = (epoch: number): string => `root="\${FAIRLEAD_ROOT:-}"
# Only the installation of Fairlead that has taken over last may change this host.
fairlead_epoch=$(sed -n '1s/^\\([0-9]\\{1,7\\}\\)$/\\1/p' ${hostPath(EPOCH_FILE)} 2>/dev/null || true)
if [ "\${fairlead_epoch:-1}" -gt ${epoch} ]; then
  rm -f "$0"
  echo "another installation of Fairlead has taken this host over (epoch $fairlead_epoch; this one has ${epoch})" >&2
  exit 1
fi
`;

const remember = (epoch: number): string => `if [ "\${fairlead_epoch:-1}" -lt ${epoch} ]; then
  mkdir -p "$root/etc/fairlead"
  echo ${epoch} >${hostPath(`${EPOCH_FILE}.new`)}
  mv -f ${hostPath(`${EPOCH_FILE}.new`)} ${hostPath(EPOCH_FILE)}
fi
`;

/**
 * The step does nothing on a host that an installation of a later epoch has used, and otherwise records its own epoch.
 */
export const underEpoch = <Rendered extends { readonly script: string }>(step: Rendered, epoch: number): Rendered => {
  if (!step.script.startsWith(SHEBANG)) throw new Error('a step begins with its interpreter');
  const body = step.script.slice(SHEBANG.length);
  return { ...step, script: `${SHEBANG}${guard(epoch)}${epoch > 1 ? remember(epoch) : ''}${body}` };
};
