import type { Host } from '../hosts/host.js';
import { parseArguments, type ParsedArguments } from '../arguments/arguments.js';
import { CommandFault, type Command, type CommandCall } from './command.js';
import { archiveOf } from './unpacked.commands.js';
import { packageNamed, upstreamVersion, versionMatching, type PackageDefinition } from './packages.js';

const APT_FAILED = 100;
const OPTIONS_WITH_VALUE = ['-o', '-t', '-c', '--option', '--target-release'];

interface Selection {
  readonly definition: PackageDefinition;
  readonly version: string;
}

export const aptGet: Command = async (call) => {
  const parsed = parseArguments(call.args, OPTIONS_WITH_VALUE);
  const [verb, ...names] = parsed.positional;
  switch (verb) {
    case 'update':
      return update(call);
    case 'install':
      return install(call, parsed, names);
    case 'remove':
    case 'purge':
    case 'autoremove':
      return remove(call, parsed, names);
    case 'clean':
    case 'autoclean':
    case 'check':
      return 0;
    case 'upgrade':
    case 'dist-upgrade':
      call.out('0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.');
      return 0;
    default:
      throw new CommandFault(`E: Invalid operation ${verb ?? ''}`, APT_FAILED);
  }
};

const update = async ({ host, world, signal, out }: CommandCall): Promise<number> => {
  await world.delays('packageIndex', signal);
  host.record.packageIndexFetched = true;
  host.changed();
  out('Hit:1 http://deb.lab.invalid/debian bookworm InRelease (simulated by Fairlead lab)');
  out('Hit:2 http://pkgs.lab.invalid/core:/stable:/deb  InRelease (simulated by Fairlead lab)');
  out('Reading package lists...');
  return 0;
};

const install = async (call: CommandCall, parsed: ParsedArguments, names: readonly string[]): Promise<number> => {
  const { host, world, signal, out } = call;
  const selections = names.map((name) => select(host, name));
  const desired = withDependencies(host, selections).filter(
    ({ definition, version }) => host.record.packages[definition.name] !== version,
  );
  refuseHeldChanges(host, desired, parsed);
  refuseDowngrades(host, desired, parsed);
  out('Reading package lists...');
  out('Building dependency tree...');
  if (parsed.has('--download-only')) return downloaded(call, desired);
  const upgraded = desired.filter(({ definition }) => definition.name in host.record.packages).length;
  for (const { definition, version } of desired) {
    await world.delays('packageInstall', signal);
    await unpack(host, definition, version);
    out(`Setting up ${definition.name} (${version}) ...`);
  }
  if (parsed.has('--mark-auto')) out('(marked as automatically installed)');
  out(`${upgraded} upgraded, ${desired.length - upgraded} newly installed, 0 to remove and 0 not upgraded.`);
  return 0;
};

const downloaded = async (
  { host, world, signal, out }: CommandCall,
  selections: readonly Selection[],
): Promise<number> => {
  if (selections.length > 0) await world.delays('packageIndex', signal);
  for (const { definition, version } of selections)
    await host.files.writeText(archiveOf(definition.name, version), `${definition.name} ${version}\n`);
  out('Download complete and in download only mode');
  return 0;
};

/** Installs a package: records its version, writes files that the host does not have yet, and starts its units. */
export const unpack = async (host: Host, definition: PackageDefinition, version: string): Promise<void> => {
  const isNew = !(definition.name in host.record.packages);
  host.record.packages[definition.name] = version;
  host.changed();
  for (const [path, text] of Object.entries(definition.files)) {
    if (!(await host.files.exists(path))) await host.files.writeText(path, text);
  }
  for (const unit of definition.units) {
    if (isNew) await host.services.enable(unit);
    if (isNew || host.record.units[`${unit}.service`]?.started) await host.services.restart(unit);
  }
  await host.programsChanged();
};

const remove = async (call: CommandCall, parsed: ParsedArguments, names: readonly string[]): Promise<number> => {
  const { host, out } = call;
  const present = names.filter((name) => name in host.record.packages);
  const held = present.filter((name) => host.record.heldPackages.includes(name));
  if (held.length > 0 && !parsed.has('--allow-change-held-packages')) throw heldFault();
  for (const name of present) {
    const definition = packageNamed(name);
    for (const unit of definition?.units ?? []) await host.services.stop(unit);
    for (const path of Object.keys(definition?.files ?? {})) await host.files.removeTree(path);
    delete host.record.packages[name];
    host.record.heldPackages = host.record.heldPackages.filter((other) => other !== name);
    out(`Removing ${name} ...`);
  }
  host.changed();
  await host.programsChanged();
  out(`0 upgraded, 0 newly installed, ${present.length} to remove and 0 not upgraded.`);
  return 0;
};

const select = (host: Host, request: string): Selection => {
  const [name = '', requestedVersion] = request.split('=');
  const definition = packageNamed(name);
  if (definition === undefined || !host.record.packageIndexFetched) {
    throw new CommandFault(`E: Unable to locate package ${name}`, APT_FAILED);
  }
  const version = versionMatching(definition, requestedVersion);
  if (version === undefined) {
    throw new CommandFault(`E: Version '${requestedVersion}' for '${name}' was not found`, APT_FAILED);
  }
  return { definition, version };
};

const withDependencies = (host: Host, selections: readonly Selection[]): readonly Selection[] => {
  const needed = selections
    .flatMap(({ definition }) => definition.depends)
    .filter(
      (name) => !(name in host.record.packages) && !selections.some(({ definition }) => definition.name === name),
    );
  return [...[...new Set(needed)].map((name) => select(host, name)), ...selections];
};

const refuseHeldChanges = (host: Host, desired: readonly Selection[], parsed: ParsedArguments): void => {
  const held = desired.filter(({ definition }) => host.record.heldPackages.includes(definition.name));
  if (held.length > 0 && !parsed.has('--allow-change-held-packages')) throw heldFault();
};

const heldFault = (): CommandFault =>
  new CommandFault('E: Held packages were changed and -y was used without --allow-change-held-packages.', APT_FAILED);

const refuseDowngrades = (host: Host, desired: readonly Selection[], parsed: ParsedArguments): void => {
  const downgraded = desired.some(({ definition, version }) => {
    const installed = host.record.packages[definition.name];
    return installed !== undefined && definition.versions.indexOf(version) < definition.versions.indexOf(installed);
  });
  if (downgraded && !parsed.has('--allow-downgrades')) {
    throw new CommandFault('E: Packages were downgraded and -y was used without --allow-downgrades.', APT_FAILED);
  }
};

export const aptMark: Command = ({ host, args, out }) => {
  const [verb, ...names] = parseArguments(args).positional;
  if (verb === 'showhold') {
    for (const name of [...host.record.heldPackages].sort()) out(name);
    return 0;
  }
  for (const name of names) {
    if (!(name in host.record.packages) && packageNamed(name) === undefined) {
      throw new CommandFault(`E: Unable to locate package ${name}`, APT_FAILED);
    }
  }
  if (verb === 'hold') host.record.heldPackages = [...new Set([...host.record.heldPackages, ...names])];
  else if (verb === 'unhold') {
    host.record.heldPackages = host.record.heldPackages.filter((name) => !names.includes(name));
  } else if (verb !== 'auto' && verb !== 'manual')
    throw new CommandFault(`E: Invalid operation ${verb ?? ''}`, APT_FAILED);
  host.changed();
  if (verb === 'hold' || verb === 'unhold') {
    for (const name of names) out(`${name} ${verb === 'hold' ? 'set on hold.' : 'Canceled hold on'}`);
  }
  return 0;
};

export const aptCache: Command = ({ host, args, out }) => {
  const [verb, ...names] = parseArguments(args).positional;
  for (const name of names) {
    const definition = packageNamed(name);
    if (definition === undefined || !host.record.packageIndexFetched) {
      if (verb === 'policy') continue;
      throw new CommandFault(`E: No packages found`, APT_FAILED);
    }
    if (verb === 'madison') {
      for (const version of [...definition.versions].reverse()) {
        out(`${name.padStart(10)} | ${version} | http://pkgs.lab.invalid Packages`);
      }
    } else if (verb === 'policy') {
      out(`${name}:`);
      out(`  Installed: ${host.record.packages[name] ?? '(none)'}`);
      out(`  Candidate: ${definition.versions.at(-1)}`);
    } else {
      out(`Package: ${name}\nVersion: ${definition.versions.at(-1)}\n`);
    }
  }
  return 0;
};

/** `dpkg-query -W [-f=FORMAT] NAME...`; formats with ${Package}, ${Version}, ${Status}, ${db:Status-Status} and \n. */
export const dpkgQuery: Command = ({ host, args, out, err }) => {
  const parsed = parseArguments(args, ['-f', '--showformat']);
  const format = parsed.value('-f', '--showformat') ?? '${Package}\t${Version}\\n';
  const asked = parsed.positional.length > 0 ? parsed.positional : Object.keys(host.record.packages);
  // The output is always sorted by name.
  const names = [...asked].sort();
  let exitCode = 0;
  let text = '';
  for (const name of names) {
    const version = host.record.packages[name];
    if (version === undefined) {
      err(`dpkg-query: no packages found matching ${name}`);
      exitCode = 1;
      continue;
    }
    const held = host.record.heldPackages.includes(name);
    text += expand(format, {
      Package: name,
      Version: version,
      Architecture: 'amd64',
      Status: `${held ? 'hold' : 'install'} ok installed`,
      'db:Status-Status': 'installed',
      'db:Status-Want': held ? 'hold' : 'install',
    });
  }
  if (text !== '') out(text.replace(/\n$/, ''));
  return exitCode;
};

/** `dpkg -s NAME`, `dpkg -l`, `dpkg --print-architecture`. */
export const dpkg: Command = ({ host, args, out, err }) => {
  const parsed = parseArguments(args);
  if (parsed.has('--print-architecture')) {
    out('amd64');
    return 0;
  }
  if (parsed.has('--configure')) return 0;
  const names = parsed.positional.length > 0 ? parsed.positional : Object.keys(host.record.packages).sort();
  let exitCode = 0;
  for (const name of names) {
    const version = host.record.packages[name];
    if (version === undefined) {
      err(`dpkg-query: package '${name}' is not installed and no information is available`);
      exitCode = 1;
    } else if (parsed.has('-l', '--list')) out(`ii  ${name}  ${version}  amd64  (simulated by Fairlead lab)`);
    else out(`Package: ${name}\nStatus: install ok installed\nVersion: ${version}\n`);
  }
  return exitCode;
};

/** The upstream version of an installed package, or undefined if it is not installed. */
export const installedVersion = (host: Host, name: string): string | undefined => {
  const version = host.record.packages[name];
  return version === undefined ? undefined : upstreamVersion(version);
};

const expand = (format: string, fields: Readonly<Record<string, string>>): string =>
  format
    .replace(/\$\{([\w:-]+)(?:;-?\d+)?\}/g, (_, field: string) => fields[field] ?? '')
    .replaceAll('\\n', '\n')
    .replaceAll('\\t', '\t');
