import { etcdctl, etcdutl, type ToolCall, type ToolResult } from '../etcd/etcd.tools.js';

/** What exec answers for a program that the image does not have: the runtime's own words. */
export interface NoSuchProgram {
  readonly missing: string;
}

/** The programs of the etcd image that kubeadm uses: etcdctl, etcdutl, a shell and a `cp` of its own; no `cat`, no `rm`. */
export const runInEtcd = (call: ToolCall, [program = '', ...args]: readonly string[]): ToolResult | NoSuchProgram => {
  switch (program) {
    case 'etcdctl':
      return etcdctl(call, args);
    case 'etcdutl':
      return etcdutl(call, args);
    case 'cp':
      return copy(call, args);
    case 'sh':
      return truncate(call, args);
    default:
      return { missing: program };
  }
};

const copy = ({ files }: ToolCall, [from = '', to = '']: readonly string[]): ToolResult => {
  const bytes = files.get(from);
  if (bytes === undefined) {
    const stderr = `unable to open source file [${from}]: "open ${from}: no such file or directory"\n`;
    return { stdout: '', stderr, exitCode: 1 };
  }
  if (to === '/dev/stdout') return { stdout: bytes, stderr: '', exitCode: 0 };
  files.set(to, bytes);
  return { stdout: '', stderr: '', exitCode: 0 };
};

/** Two scripts are what the shell of this image is used for: `: > FILE`, and the same for all files with this beginning. */
const truncate = ({ files }: ToolCall, args: readonly string[]): ToolResult => {
  const prefix = /^for f in (\S+)\*; do \[ ! -s "\$f" \] \|\| : > "\$f"; done$/.exec(args[1] ?? '')?.[1];
  if (prefix !== undefined) {
    for (const path of files.keys()) if (path.startsWith(prefix)) files.set(path, Buffer.alloc(0));
    return { stdout: '', stderr: '', exitCode: 0 };
  }
  const path = /^: > '?([^']+)'?$/.exec(args[1] ?? '')?.[1];
  if (path === undefined) return { stdout: '', stderr: 'this script is not simulated by Fairlead lab\n', exitCode: 1 };
  files.set(path, Buffer.alloc(0));
  return { stdout: '', stderr: '', exitCode: 0 };
};
