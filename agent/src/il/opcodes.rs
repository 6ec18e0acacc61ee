//! The instruction set of ECMA-335 partition III as one table: byte value, name, operand, stack effect, flow.
//! The file is long because the set is.

/// Number of an instruction: `0x00..=0xFF` for one-byte instructions, `0xFE00 | second byte` for the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Opcode(u16);

/// Operand after the opcode bytes (ECMA-335 III.1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// Nothing.
    None,
    /// An unsigned byte: the number of a variable, an alignment, or the checks of `no.`.
    U8,
    /// A signed byte.
    I8,
    /// An unsigned 16-bit number of a variable.
    U16,
    /// A signed 32-bit number.
    I32,
    /// A signed 64-bit number.
    I64,
    /// A 32-bit floating-point number, kept as bits.
    R4,
    /// A 64-bit floating-point number, kept as bits.
    R8,
    /// A metadata token.
    Token,
    /// A branch distance of one signed byte.
    ShortTarget,
    /// A branch distance of four signed bytes.
    LongTarget,
    /// A count of four bytes, then that many branch distances of four bytes.
    Switch,
}

/// Control flow after the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// Always to the target; keeps the stack.
    Branch,
    /// Always to the target; empties the stack (`leave`).
    Leave,
    /// To the target or the next instruction (`switch`: one of the targets or the next).
    Conditional,
    /// To a method and then the next instruction; the stack effect depends on the signature.
    Call,
    /// Out of the method (`ret`); the method's own signature determines the values popped.
    Return,
    /// Into another method instead of this one (`jmp`); the stack must be empty.
    Jump,
    /// To a handler (`throw`, `rethrow`) or back from one (`endfinally`, `endfilter`).
    End,
    /// A prefix of the next instruction.
    Prefix,
}

/// Properties of one instruction. `pops` and `pushes` are 0 where a signature decides ([`Flow::Call`],
/// [`Flow::Return`]).
#[derive(Clone, Copy, Debug)]
pub struct OpcodeInfo {
    /// Assembler name, such as `ldc.i4.s`.
    pub name: &'static str,
    /// Operand after the opcode.
    pub operand: OperandKind,
    /// Values popped.
    pub pops: u8,
    /// Values pushed.
    pub pushes: u8,
    /// Control flow.
    pub flow: Flow,
}

macro_rules! opcodes {
    ($($value:literal $ident:ident $name:literal $operand:ident $pops:literal $pushes:literal $flow:ident;)*) => {
        #[allow(missing_docs)] // the table has the assembler name of each
        impl Opcode { $(pub const $ident: Opcode = Opcode($value);)* }

        #[allow(clippy::indexing_slicing)] // evaluated at compile time
        const fn build(two_byte: bool) -> [Option<OpcodeInfo>; 256] {
            let mut table = [const { None }; 256];
            $(
                if ($value > 0xFF) == two_byte {
                    table[($value & 0xFF) as usize] = Some(OpcodeInfo {
                        name: $name,
                        operand: OperandKind::$operand,
                        pops: $pops,
                        pushes: $pushes,
                        flow: Flow::$flow,
                    });
                }
            )*
            table
        }

        /// All instructions, in the order of the table.
        pub const ALL: &[Opcode] = &[$(Opcode($value),)*];
    };
}

static ONE_BYTE: [Option<OpcodeInfo>; 256] = build(false);
static TWO_BYTE: [Option<OpcodeInfo>; 256] = build(true);

/// First byte of every two-byte instruction.
pub const TWO_BYTE_PREFIX: u8 = 0xFE;

impl Opcode {
    /// Returns the one-byte instruction, if there is one.
    pub fn one_byte(byte: u8) -> Option<Opcode> {
        ONE_BYTE.get(usize::from(byte))?.as_ref().map(|_| Opcode(u16::from(byte)))
    }

    /// Returns the instruction of `0xFE` and this byte, if there is one.
    pub fn two_byte(byte: u8) -> Option<Opcode> {
        TWO_BYTE.get(usize::from(byte))?.as_ref().map(|_| Opcode(0xFE00 | u16::from(byte)))
    }

    /// Returns the number: one byte, or `0xFE00 | second byte`.
    pub fn value(self) -> u16 {
        self.0
    }

    /// Returns the bytes of the opcode itself, without its operand: 1 or 2.
    pub fn size(self) -> u32 {
        if self.0 > 0xFF { 2 } else { 1 }
    }

    /// Returns the table entry.
    pub fn info(self) -> &'static OpcodeInfo {
        let table = if self.0 > 0xFF { &TWO_BYTE } else { &ONE_BYTE };
        match table.get(usize::from(self.0 & 0xFF)) {
            Some(Some(info)) => info,
            // Every value of this type comes from the table.
            _ => &UNKNOWN,
        }
    }

    /// Returns the form with a four-byte distance of a branch with a one-byte distance.
    pub fn long_form(self) -> Option<Opcode> {
        match self.0 {
            0x2B..=0x37 => Some(Opcode(self.0 + 0x0D)),
            0xDE => Some(Opcode::LEAVE),
            _ => None,
        }
    }

    /// Returns the form with a one-byte distance of a branch with a four-byte distance.
    pub fn short_form(self) -> Option<Opcode> {
        match self.0 {
            0x38..=0x44 => Some(Opcode(self.0 - 0x0D)),
            0xDD => Some(Opcode::LEAVE_S),
            _ => None,
        }
    }
}

static UNKNOWN: OpcodeInfo =
    OpcodeInfo { name: "?", operand: OperandKind::None, pops: 0, pushes: 0, flow: Flow::End };

impl std::fmt::Debug for Opcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().name)
    }
}

impl std::fmt::Display for Opcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().name)
    }
}

opcodes! {
    0x0000 NOP "nop" None 0 0 Next;
    0x0001 BREAK "break" None 0 0 Next;
    0x0002 LDARG_0 "ldarg.0" None 0 1 Next;
    0x0003 LDARG_1 "ldarg.1" None 0 1 Next;
    0x0004 LDARG_2 "ldarg.2" None 0 1 Next;
    0x0005 LDARG_3 "ldarg.3" None 0 1 Next;
    0x0006 LDLOC_0 "ldloc.0" None 0 1 Next;
    0x0007 LDLOC_1 "ldloc.1" None 0 1 Next;
    0x0008 LDLOC_2 "ldloc.2" None 0 1 Next;
    0x0009 LDLOC_3 "ldloc.3" None 0 1 Next;
    0x000A STLOC_0 "stloc.0" None 1 0 Next;
    0x000B STLOC_1 "stloc.1" None 1 0 Next;
    0x000C STLOC_2 "stloc.2" None 1 0 Next;
    0x000D STLOC_3 "stloc.3" None 1 0 Next;
    0x000E LDARG_S "ldarg.s" U8 0 1 Next;
    0x000F LDARGA_S "ldarga.s" U8 0 1 Next;
    0x0010 STARG_S "starg.s" U8 1 0 Next;
    0x0011 LDLOC_S "ldloc.s" U8 0 1 Next;
    0x0012 LDLOCA_S "ldloca.s" U8 0 1 Next;
    0x0013 STLOC_S "stloc.s" U8 1 0 Next;
    0x0014 LDNULL "ldnull" None 0 1 Next;
    0x0015 LDC_I4_M1 "ldc.i4.m1" None 0 1 Next;
    0x0016 LDC_I4_0 "ldc.i4.0" None 0 1 Next;
    0x0017 LDC_I4_1 "ldc.i4.1" None 0 1 Next;
    0x0018 LDC_I4_2 "ldc.i4.2" None 0 1 Next;
    0x0019 LDC_I4_3 "ldc.i4.3" None 0 1 Next;
    0x001A LDC_I4_4 "ldc.i4.4" None 0 1 Next;
    0x001B LDC_I4_5 "ldc.i4.5" None 0 1 Next;
    0x001C LDC_I4_6 "ldc.i4.6" None 0 1 Next;
    0x001D LDC_I4_7 "ldc.i4.7" None 0 1 Next;
    0x001E LDC_I4_8 "ldc.i4.8" None 0 1 Next;
    0x001F LDC_I4_S "ldc.i4.s" I8 0 1 Next;
    0x0020 LDC_I4 "ldc.i4" I32 0 1 Next;
    0x0021 LDC_I8 "ldc.i8" I64 0 1 Next;
    0x0022 LDC_R4 "ldc.r4" R4 0 1 Next;
    0x0023 LDC_R8 "ldc.r8" R8 0 1 Next;
    0x0025 DUP "dup" None 1 2 Next;
    0x0026 POP "pop" None 1 0 Next;
    0x0027 JMP "jmp" Token 0 0 Jump;
    0x0028 CALL "call" Token 0 0 Call;
    0x0029 CALLI "calli" Token 0 0 Call;
    0x002A RET "ret" None 0 0 Return;
    0x002B BR_S "br.s" ShortTarget 0 0 Branch;
    0x002C BRFALSE_S "brfalse.s" ShortTarget 1 0 Conditional;
    0x002D BRTRUE_S "brtrue.s" ShortTarget 1 0 Conditional;
    0x002E BEQ_S "beq.s" ShortTarget 2 0 Conditional;
    0x002F BGE_S "bge.s" ShortTarget 2 0 Conditional;
    0x0030 BGT_S "bgt.s" ShortTarget 2 0 Conditional;
    0x0031 BLE_S "ble.s" ShortTarget 2 0 Conditional;
    0x0032 BLT_S "blt.s" ShortTarget 2 0 Conditional;
    0x0033 BNE_UN_S "bne.un.s" ShortTarget 2 0 Conditional;
    0x0034 BGE_UN_S "bge.un.s" ShortTarget 2 0 Conditional;
    0x0035 BGT_UN_S "bgt.un.s" ShortTarget 2 0 Conditional;
    0x0036 BLE_UN_S "ble.un.s" ShortTarget 2 0 Conditional;
    0x0037 BLT_UN_S "blt.un.s" ShortTarget 2 0 Conditional;
    0x0038 BR "br" LongTarget 0 0 Branch;
    0x0039 BRFALSE "brfalse" LongTarget 1 0 Conditional;
    0x003A BRTRUE "brtrue" LongTarget 1 0 Conditional;
    0x003B BEQ "beq" LongTarget 2 0 Conditional;
    0x003C BGE "bge" LongTarget 2 0 Conditional;
    0x003D BGT "bgt" LongTarget 2 0 Conditional;
    0x003E BLE "ble" LongTarget 2 0 Conditional;
    0x003F BLT "blt" LongTarget 2 0 Conditional;
    0x0040 BNE_UN "bne.un" LongTarget 2 0 Conditional;
    0x0041 BGE_UN "bge.un" LongTarget 2 0 Conditional;
    0x0042 BGT_UN "bgt.un" LongTarget 2 0 Conditional;
    0x0043 BLE_UN "ble.un" LongTarget 2 0 Conditional;
    0x0044 BLT_UN "blt.un" LongTarget 2 0 Conditional;
    0x0045 SWITCH "switch" Switch 1 0 Conditional;
    0x0046 LDIND_I1 "ldind.i1" None 1 1 Next;
    0x0047 LDIND_U1 "ldind.u1" None 1 1 Next;
    0x0048 LDIND_I2 "ldind.i2" None 1 1 Next;
    0x0049 LDIND_U2 "ldind.u2" None 1 1 Next;
    0x004A LDIND_I4 "ldind.i4" None 1 1 Next;
    0x004B LDIND_U4 "ldind.u4" None 1 1 Next;
    0x004C LDIND_I8 "ldind.i8" None 1 1 Next;
    0x004D LDIND_I "ldind.i" None 1 1 Next;
    0x004E LDIND_R4 "ldind.r4" None 1 1 Next;
    0x004F LDIND_R8 "ldind.r8" None 1 1 Next;
    0x0050 LDIND_REF "ldind.ref" None 1 1 Next;
    0x0051 STIND_REF "stind.ref" None 2 0 Next;
    0x0052 STIND_I1 "stind.i1" None 2 0 Next;
    0x0053 STIND_I2 "stind.i2" None 2 0 Next;
    0x0054 STIND_I4 "stind.i4" None 2 0 Next;
    0x0055 STIND_I8 "stind.i8" None 2 0 Next;
    0x0056 STIND_R4 "stind.r4" None 2 0 Next;
    0x0057 STIND_R8 "stind.r8" None 2 0 Next;
    0x0058 ADD "add" None 2 1 Next;
    0x0059 SUB "sub" None 2 1 Next;
    0x005A MUL "mul" None 2 1 Next;
    0x005B DIV "div" None 2 1 Next;
    0x005C DIV_UN "div.un" None 2 1 Next;
    0x005D REM "rem" None 2 1 Next;
    0x005E REM_UN "rem.un" None 2 1 Next;
    0x005F AND "and" None 2 1 Next;
    0x0060 OR "or" None 2 1 Next;
    0x0061 XOR "xor" None 2 1 Next;
    0x0062 SHL "shl" None 2 1 Next;
    0x0063 SHR "shr" None 2 1 Next;
    0x0064 SHR_UN "shr.un" None 2 1 Next;
    0x0065 NEG "neg" None 1 1 Next;
    0x0066 NOT "not" None 1 1 Next;
    0x0067 CONV_I1 "conv.i1" None 1 1 Next;
    0x0068 CONV_I2 "conv.i2" None 1 1 Next;
    0x0069 CONV_I4 "conv.i4" None 1 1 Next;
    0x006A CONV_I8 "conv.i8" None 1 1 Next;
    0x006B CONV_R4 "conv.r4" None 1 1 Next;
    0x006C CONV_R8 "conv.r8" None 1 1 Next;
    0x006D CONV_U4 "conv.u4" None 1 1 Next;
    0x006E CONV_U8 "conv.u8" None 1 1 Next;
    0x006F CALLVIRT "callvirt" Token 0 0 Call;
    0x0070 CPOBJ "cpobj" Token 2 0 Next;
    0x0071 LDOBJ "ldobj" Token 1 1 Next;
    0x0072 LDSTR "ldstr" Token 0 1 Next;
    0x0073 NEWOBJ "newobj" Token 0 0 Call;
    0x0074 CASTCLASS "castclass" Token 1 1 Next;
    0x0075 ISINST "isinst" Token 1 1 Next;
    0x0076 CONV_R_UN "conv.r.un" None 1 1 Next;
    0x0079 UNBOX "unbox" Token 1 1 Next;
    0x007A THROW "throw" None 1 0 End;
    0x007B LDFLD "ldfld" Token 1 1 Next;
    0x007C LDFLDA "ldflda" Token 1 1 Next;
    0x007D STFLD "stfld" Token 2 0 Next;
    0x007E LDSFLD "ldsfld" Token 0 1 Next;
    0x007F LDSFLDA "ldsflda" Token 0 1 Next;
    0x0080 STSFLD "stsfld" Token 1 0 Next;
    0x0081 STOBJ "stobj" Token 2 0 Next;
    0x0082 CONV_OVF_I1_UN "conv.ovf.i1.un" None 1 1 Next;
    0x0083 CONV_OVF_I2_UN "conv.ovf.i2.un" None 1 1 Next;
    0x0084 CONV_OVF_I4_UN "conv.ovf.i4.un" None 1 1 Next;
    0x0085 CONV_OVF_I8_UN "conv.ovf.i8.un" None 1 1 Next;
    0x0086 CONV_OVF_U1_UN "conv.ovf.u1.un" None 1 1 Next;
    0x0087 CONV_OVF_U2_UN "conv.ovf.u2.un" None 1 1 Next;
    0x0088 CONV_OVF_U4_UN "conv.ovf.u4.un" None 1 1 Next;
    0x0089 CONV_OVF_U8_UN "conv.ovf.u8.un" None 1 1 Next;
    0x008A CONV_OVF_I_UN "conv.ovf.i.un" None 1 1 Next;
    0x008B CONV_OVF_U_UN "conv.ovf.u.un" None 1 1 Next;
    0x008C BOX "box" Token 1 1 Next;
    0x008D NEWARR "newarr" Token 1 1 Next;
    0x008E LDLEN "ldlen" None 1 1 Next;
    0x008F LDELEMA "ldelema" Token 2 1 Next;
    0x0090 LDELEM_I1 "ldelem.i1" None 2 1 Next;
    0x0091 LDELEM_U1 "ldelem.u1" None 2 1 Next;
    0x0092 LDELEM_I2 "ldelem.i2" None 2 1 Next;
    0x0093 LDELEM_U2 "ldelem.u2" None 2 1 Next;
    0x0094 LDELEM_I4 "ldelem.i4" None 2 1 Next;
    0x0095 LDELEM_U4 "ldelem.u4" None 2 1 Next;
    0x0096 LDELEM_I8 "ldelem.i8" None 2 1 Next;
    0x0097 LDELEM_I "ldelem.i" None 2 1 Next;
    0x0098 LDELEM_R4 "ldelem.r4" None 2 1 Next;
    0x0099 LDELEM_R8 "ldelem.r8" None 2 1 Next;
    0x009A LDELEM_REF "ldelem.ref" None 2 1 Next;
    0x009B STELEM_I "stelem.i" None 3 0 Next;
    0x009C STELEM_I1 "stelem.i1" None 3 0 Next;
    0x009D STELEM_I2 "stelem.i2" None 3 0 Next;
    0x009E STELEM_I4 "stelem.i4" None 3 0 Next;
    0x009F STELEM_I8 "stelem.i8" None 3 0 Next;
    0x00A0 STELEM_R4 "stelem.r4" None 3 0 Next;
    0x00A1 STELEM_R8 "stelem.r8" None 3 0 Next;
    0x00A2 STELEM_REF "stelem.ref" None 3 0 Next;
    0x00A3 LDELEM "ldelem" Token 2 1 Next;
    0x00A4 STELEM "stelem" Token 3 0 Next;
    0x00A5 UNBOX_ANY "unbox.any" Token 1 1 Next;
    0x00B3 CONV_OVF_I1 "conv.ovf.i1" None 1 1 Next;
    0x00B4 CONV_OVF_U1 "conv.ovf.u1" None 1 1 Next;
    0x00B5 CONV_OVF_I2 "conv.ovf.i2" None 1 1 Next;
    0x00B6 CONV_OVF_U2 "conv.ovf.u2" None 1 1 Next;
    0x00B7 CONV_OVF_I4 "conv.ovf.i4" None 1 1 Next;
    0x00B8 CONV_OVF_U4 "conv.ovf.u4" None 1 1 Next;
    0x00B9 CONV_OVF_I8 "conv.ovf.i8" None 1 1 Next;
    0x00BA CONV_OVF_U8 "conv.ovf.u8" None 1 1 Next;
    0x00C2 REFANYVAL "refanyval" Token 1 1 Next;
    0x00C3 CKFINITE "ckfinite" None 1 1 Next;
    0x00C6 MKREFANY "mkrefany" Token 1 1 Next;
    0x00D0 LDTOKEN "ldtoken" Token 0 1 Next;
    0x00D1 CONV_U2 "conv.u2" None 1 1 Next;
    0x00D2 CONV_U1 "conv.u1" None 1 1 Next;
    0x00D3 CONV_I "conv.i" None 1 1 Next;
    0x00D4 CONV_OVF_I "conv.ovf.i" None 1 1 Next;
    0x00D5 CONV_OVF_U "conv.ovf.u" None 1 1 Next;
    0x00D6 ADD_OVF "add.ovf" None 2 1 Next;
    0x00D7 ADD_OVF_UN "add.ovf.un" None 2 1 Next;
    0x00D8 MUL_OVF "mul.ovf" None 2 1 Next;
    0x00D9 MUL_OVF_UN "mul.ovf.un" None 2 1 Next;
    0x00DA SUB_OVF "sub.ovf" None 2 1 Next;
    0x00DB SUB_OVF_UN "sub.ovf.un" None 2 1 Next;
    0x00DC ENDFINALLY "endfinally" None 0 0 End;
    0x00DD LEAVE "leave" LongTarget 0 0 Leave;
    0x00DE LEAVE_S "leave.s" ShortTarget 0 0 Leave;
    0x00DF STIND_I "stind.i" None 2 0 Next;
    0x00E0 CONV_U "conv.u" None 1 1 Next;
    0xFE00 ARGLIST "arglist" None 0 1 Next;
    0xFE01 CEQ "ceq" None 2 1 Next;
    0xFE02 CGT "cgt" None 2 1 Next;
    0xFE03 CGT_UN "cgt.un" None 2 1 Next;
    0xFE04 CLT "clt" None 2 1 Next;
    0xFE05 CLT_UN "clt.un" None 2 1 Next;
    0xFE06 LDFTN "ldftn" Token 0 1 Next;
    0xFE07 LDVIRTFTN "ldvirtftn" Token 1 1 Next;
    0xFE09 LDARG "ldarg" U16 0 1 Next;
    0xFE0A LDARGA "ldarga" U16 0 1 Next;
    0xFE0B STARG "starg" U16 1 0 Next;
    0xFE0C LDLOC "ldloc" U16 0 1 Next;
    0xFE0D LDLOCA "ldloca" U16 0 1 Next;
    0xFE0E STLOC "stloc" U16 1 0 Next;
    0xFE0F LOCALLOC "localloc" None 1 1 Next;
    0xFE11 ENDFILTER "endfilter" None 1 0 End;
    0xFE12 UNALIGNED "unaligned." U8 0 0 Prefix;
    0xFE13 VOLATILE "volatile." None 0 0 Prefix;
    0xFE14 TAIL "tail." None 0 0 Prefix;
    0xFE15 INITOBJ "initobj" Token 1 0 Next;
    0xFE16 CONSTRAINED "constrained." Token 0 0 Prefix;
    0xFE17 CPBLK "cpblk" None 3 0 Next;
    0xFE18 INITBLK "initblk" None 3 0 Next;
    0xFE19 NO "no." U8 0 0 Prefix;
    0xFE1A RETHROW "rethrow" None 0 0 End;
    0xFE1C SIZEOF "sizeof" Token 0 1 Next;
    0xFE1D REFANYTYPE "refanytype" None 1 1 Next;
    0xFE1E READONLY "readonly." None 0 0 Prefix;
}
