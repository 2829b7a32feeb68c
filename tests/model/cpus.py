#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU models: what query-cpu-model-expansion answers for each, and what a CPU object of one has, compared with what was
recorded from QEMU 11.1 (record-cpus.py), and with each QEMU that is installed. Prints TAP.

usage: cpus.py SERVE RECORDED
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'qmp'))

from checks import finish, ok, skip  # noqa: E402
from peer import Peer, Server  # noqa: E402
from real_qemu import Qemu, programs, version_of  # noqa: E402

COMMAND = 'query-cpu-model-expansion'
SAME = (11, 1)  # the model's own version
CPU = '/machine/unattached/device[0]'

# Each is asked alone, of qemu64; asked of a QEMU 11.1, that answers the same.
WRONG = [
    ({'type': 'static', 'model': {'name': 'nosuch'}}, "CPU model 'nosuch' not found"),
    ({'type': 'full', 'model': {'name': ''}}, "CPU model '' not found"),
    ({'type': 'static', 'model': {'name': 'qemu64-x86_64-cpu'}}, "CPU model 'qemu64-x86_64-cpu' not found"),
    ({'type': 'static', 'model': {}}, "Parameter 'model.name' is missing"),
    ({'type': 'static', 'model': {'name': 3}}, "Invalid parameter type for 'model.name', expected: string"),
    ({'type': 'static', 'model': {'name': 'qemu64', 'x': 3}}, "Parameter 'model.x' is unexpected"),
    ({'type': 'static', 'model': {'name': 'qemu64', 'props': []}},
     "Invalid parameter type for 'model.props', expected: object"),
]
# The same of one property.
WRONG_PROPS = {
    ('sse', 'off'): "Invalid parameter type for 'model.props.sse', expected: boolean",
    ('sse', None): "Invalid parameter type for 'model.props.sse', expected: boolean",
    ('nosuch', 1): "Property 'qemu64-x86_64-cpu.nosuch' not found",
    ('migratable', True): "Property 'qemu64-x86_64-cpu.migratable' not found",
    ('type', 'x'): "Property 'qemu64-x86_64-cpu.type' is not writable",
    ('feature-words', 1): "Property 'qemu64-x86_64-cpu.feature-words' is not writable",
    ('level', 'x'): "Parameter 'model.props.level' expects uint64",
    ('level', -1): "Parameter 'level' expects uint32_t",
    ('level', 1 << 32): "Parameter 'level' expects uint32_t",
    ('stepping', 3.5): "Parameter 'model.props.stepping' expects uint64",
    ('stepping', 16): "parameter 'stepping' can be at most 15",
    ('family', 271): "parameter 'family' can be at most 270",
    ('model', -1): "parameter 'model' can be at most 255",
    ('vendor', 'abc'): "value of property 'vendor' must consist of exactly 12 characters",
    ('vendor', 3): "Invalid parameter type for 'model.props.vendor', expected: string",
    ('tsc-frequency', 1.5): "Invalid parameter type for 'model.props.tsc-frequency', expected: integer",
    ('tsc-frequency', -1): "parameter 'tsc-frequency' can be at most 9223372036854775807",
    ('core-id', 1 << 32): "Parameter 'core-id' expects int32_t",
    ('lbr-fmt', 64): "Property value for 'lbr-fmt' has bits outside mask '0x3f'",
    ('hv-no-nonarch-coresharing', 'x'): "Parameter 'hv-no-nonarch-coresharing' does not accept value 'x'",
    ('memory', '/nosuch'): "Device '/nosuch' not found",
    ('memory', '/machine'): "Invalid parameter type for 'memory', expected: memory-region",
    ('realized', True): 'apic-id property was not initialized properly',
}
# What is set, all at once, of which model: levels that are raised, features that go with others.
SETTINGS = [
    ('qemu64', {'sse': False, 'model-id': 'mine', 'family': 6, 'level': 3, 'realized': False}),
    ('486', {'avx2': True, 'mcdt-no': True, 'x-force-cpuid-0x1f': True, 'topoext': True, 'xcrypt': True}),
    ('EPYC-Turin', {'svm': False, 'npt': True, 'lm': False}),
    ('Denverton', {'pmu': True, 'pdcm': True, 'full-width-write': True, 'vmx': True}),
    ('Denverton', {'pdcm': True, 'full-width-write': True}),
    ('Denverton', {'vmx': True, 'vmx-ept': False, 'kvmclock': True, 'intel-pt': True}),
    ('DiamondRapids', {'mpx': True, 'arch-capabilities': False, 'avx10-128': False}),
    ('max', {'migratable': False, 'host-cache-info': True, 'vendor': 'GenuineIntel'}),
]

# CPU objects that are compared.
OBJECTS = ('qemu64', 'max', '486', 'Haswell', 'EPYC-Genoa', 'Denverton-v2')
# What is not the same in QEMU 7.2 as in 11.1, whose CPUs ours are. Properties that went after 7.2, and that came:
WENT = {'x-intel-pt-auto-level', 'x-hv-synic-kvm-only', 'full-cpuid-auto-level', 'legacy-memory', 'kvm-no-smi-migration'}
CAME = set("""
amd-psfd amx-avx512 amx-bf16-alias amx-complex amx-complex-alias amx-fp16 amx-fp16-alias amx-fp8 amx-int8-alias
amx-movrs amx-tf32 apx-nci-ndd-nf apxf auto-ibrs avx-ifma avx-ne-convert avx-vnni-int16 avx-vnni-int8 avx10 avx10-128
avx10-256 avx10-512 avx10-version avx10-vnni-int bhi-ctrl bhi-no cet-ibt cet-ss cmpccxadd ddpd-u eraps fb-clear
fbsdp-no fdp-excptn-only flush-l1d fred fs-gs-base-ns fsrc fsrs fzrm gds-no gmet guest-phys-bits ibpb-brtype
intel-psfd ipred-ctrl its-no kvm-asyncpf-vmexit lam legacy-multi-node lfence-always-serializing lkgs mcdt-no module-id
movrs msr-imm no-nested-data-bp null-sel-clr-base overflow-recov pbrsb-no perfmon-v2 prefetchi prefetchiti psdp-no
rfds-clear rfds-no rrsba-ctrl sbdr-ssdp-no sbpb sgx-aex-notify sgx-edeccssa sha512 sm3 sm4 srso-no srso-user-kernel-no
stibp-always-on succor tsa-l1-no tsa-sq-no verw-clear vmx-any-errcode vmx-enable-user-wait-pause vmx-entry-load-cet
vmx-entry-load-fred vmx-exit-save-cet vmx-exit-secondary-ctls vmx-mbec vmx-nested-exception vnmi wrmsrns
x-amd-topoext-features-only x-arch-cap-always-on x-consistent-cache x-force-cpuid-0x1f x-l1-cache-per-thread
x-pdcm-on-even-without-pmu x-vendor-cpuid-only-v2 xen-vapic zero-fcs-fds
""".split())
# Values, with the reason; of all models, or of those named.
OLDER = {
    'feature-words': 'follows from the features, and has more words',
    'filtered-features': 'the same',
    'unavailable-features': 'follows from what TCG has',
    'x2apic': 'came to TCG later', 'sha-ni': 'came to TCG later', 'rdseed': 'came to TCG later',
    '3dnowprefetch': 'came to TCG later', 'rdpid': 'came to TCG later', 'fsrm': 'came to TCG later',
    'xsaveerptr': 'came to TCG later', 'wbnoinvd': 'came to TCG later',
    '486.legacy-cache': 'it has caches of its own since', 'Denverton-v2.rdctl-no': 'shown without arch-capabilities since',
    'Denverton-v2.skip-l1dfl-vmentry': 'shown without arch-capabilities since',
    'max.pmu': 'KVM alone has it since', 'max.pcommit': 'went from TCG', 'max.cmp-legacy': 'came to TCG later',
    'max.cmp_legacy': 'came to TCG later', 'max.family': 'another version since', 'max.model': 'another version since',
    'max.stepping': 'another version since', 'max.level-func7': 'follows from the features',
    'max.xlevel': 'follows from the features', 'max.min-xlevel': 'follows from the features',
}


def expand(peer, how, model, props=None):
    """The answer, or the class and words of the error."""
    wanted = {'name': model, **({'props': props} if props is not None else {})}
    answer = peer.ask(COMMAND, type=how, model=wanted)
    return answer['return'] if 'return' in answer else tuple(answer['error'][name] for name in ('class', 'desc'))


def greeted(path):
    peer = Peer(path)
    peer.greet()
    return peer


def names(peer):
    return [definition['name'] for definition in peer.call('query-cpu-definitions')]


def differences(theirs, ours):
    return {name: (theirs.get(name), ours.get(name)) for name in theirs.keys() | ours.keys()
            if name not in theirs or name not in ours or theirs[name] != ours[name]
            or isinstance(theirs[name], bool) != isinstance(ours[name], bool)}


# ---- what was recorded ----


def check_recorded(peer, recorded):
    static, bad = set(recorded['static']), []
    for model in names(peer):
        full = {**recorded['common'], **recorded['models'][model]}
        full = {name: value for name, value in full.items() if name not in OF_HOST or model in ('max', 'host')}
        for how, name, props in (('full', model, full),
                                 ('static', 'base', {prop: value for prop, value in full.items() if prop in static})):
            answer = expand(peer, how, model)
            if answer.keys() != {'model'} or answer['model']['name'] != name or differences(props, answer['model']['props']):
                bad.append((how, model, differences(props, answer['model']['props'])))
    ok(len(recorded['models']) == 189 == len(names(peer)), 'all definitions were recorded')
    ok(not bad, 'expansions of all models are those recorded', bad)


# Of all that "common" has, what "max" and "host" alone have.
OF_HOST = ('migratable', 'host-cache-info')


def check_errors(peer):
    for arguments, wanted in WRONG:
        error = peer.ask(COMMAND, **arguments).get('error')
        ok(error == {'class': 'GenericError', 'desc': wanted}, f'{arguments}: {wanted}', error)
    for (name, value), wanted in WRONG_PROPS.items():
        answer = expand(peer, 'static', 'qemu64', {name: value})
        ok(answer[1:] == (wanted,), f'{name} {value!r}: {wanted}', answer)
    ok('return' in peer.ask('query-status'), 'the VM runs on')


# ---- a QEMU that runs ----


def check_expansions(peer, program):
    qemu = Qemu(program, '-machine', 'none')
    try:
        theirs = qemu.peer
        # Static ones show a part of the full ones, the same of all.
        asked = [('full', model) for model in names(theirs)] + [('static', model) for model in OBJECTS]
        bad = [each for each in asked if expand(peer, *each) != expand(theirs, *each)]
        ok(not bad, 'expansions of all models as QEMU 11.1 gives them', bad)
        for model, props in SETTINGS:
            ours, wanted = (expand(each, 'full', model, props) for each in (peer, theirs))
            ok(ours == wanted, f'{model} with {props} as in QEMU 11.1',
               differences(wanted['model']['props'], ours['model']['props']) if 'model' in ours else ours)
        bad = [(arguments, wanted) for arguments, wanted in WRONG
               if theirs.ask(COMMAND, **arguments).get('error') != {'class': 'GenericError', 'desc': wanted}]
        bad += [(prop, theirs) for prop in WRONG_PROPS for wanted in [expand(theirs, 'static', 'qemu64', dict([prop]))]
                if wanted != expand(peer, 'static', 'qemu64', dict([prop]))]
        ok(not bad, 'errors as in QEMU 11.1', bad)
        check_each_feature(peer, theirs)
    finally:
        qemu.close()


def check_each_feature(peer, theirs):
    """Each feature the other way round, of a model that has many."""
    model = 'EPYC-Turin'
    have = expand(theirs, 'full', model)['model']['props']
    bad = [(name, differences(*(expand(each, 'full', model, {name: not value})['model']['props']
                                for each in (theirs, peer))))
           for name, value in have.items() if isinstance(value, bool) and name != 'realized']
    bad = [(name, found) for name, found in bad if found]
    ok(not bad, f'each feature of {model} the other way round, as in QEMU 11.1', bad)


def cpu(peer):
    """Name -> (type, value) of the first CPU."""
    answer = peer.ask('qom-list-get', paths=[CPU])
    if 'return' in answer:
        return {row['name']: (row['type'], row.get('value')) for row in answer['return'][0]['properties']}
    rows = peer.call('qom-list', path=CPU)  # QEMU 7.2
    peer.send(b''.join(b'{"execute":"qom-get","arguments":{"path":"%s","property":"%s"}}'
                       % (CPU.encode(), row['name'].encode()) for row in rows))
    return {row['name']: (row['type'], peer.reply().get('return')) for row in rows}


def our_cpu(serve, model):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump({'cpus': {'count': 1, 'model': model}}, file)
        file.flush()
        server = Server(serve, file.name)
    try:
        peer = greeted(server.path)
        rows = cpu(peer)
        peer.close()
        return rows
    finally:
        server.close()


def check_object(serve, program, version, model):
    qemu = Qemu(program, '-machine', 'q35,accel=tcg', '-cpu', model)
    try:
        theirs, ours = cpu(qemu.peer), our_cpu(serve, model)
    finally:
        qemu.close()
    found = differences(theirs, ours)
    if version < SAME:
        ok(theirs.keys() - ours.keys() == WENT and ours.keys() - theirs.keys() == CAME,
           f'a CPU of {model} has the properties that one of QEMU 7.2 has, but for those that came and went',
           (theirs.keys() - ours.keys()) ^ WENT, (ours.keys() - theirs.keys()) ^ CAME)
        found = {name: values for name, values in found.items() if name not in WENT | CAME | OLDER.keys()
                 and f'{model}.{name}' not in OLDER}
    ok(not found, f'a CPU of {model} has the types and values of one of QEMU {version[0]}.{version[1]}', found)


def check_objects(serve, program, version):
    qemu = Qemu(program, '-machine', 'none')
    try:
        there = names(qemu.peer)
    finally:
        qemu.close()
    for model in OBJECTS:
        if model in there:
            check_object(serve, program, version, model)


def main():
    serve, recorded = sys.argv[1:3]
    with open(recorded, encoding='utf-8') as file:
        recorded = json.load(file)
    server = Server(serve)
    found = {version_of(program): program for program in programs((7, 2))}
    try:
        peer = greeted(server.path)
        check_recorded(peer, recorded)
        check_errors(peer)
        if SAME in found:
            check_expansions(peer, found[SAME])
        else:
            skip('expansions as in QEMU 11.1', 'it is not installed')
        peer.close()
    finally:
        ok(server.close() == 0, 'the server ends well')
    for version, program in sorted(found.items()):
        check_objects(serve, program, version)
    if not found:
        skip('CPU objects as in QEMU', 'no QEMU of 7.2 or later is installed')
    finish()


main()
