/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "hpcbctl/check/elf.h"

#define PATH_SHOWN 300

#if __ELF_NATIVE_CLASS == 64
#define NATIVE_CLASS ELFCLASS64
#else
#define NATIVE_CLASS ELFCLASS32
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

typedef struct {
    const unsigned char *bytes;
    size_t size;
} image_t;

/* Copy length bytes from offset; false where they are not all in the file.  Copies,
 * because a hostile file may place its tables at any address. */
static bool fetch(const image_t *image, uint64_t offset, void *to, size_t length)
{
    if (offset > image->size || length > image->size - offset)
        return false;
    memcpy(to, image->bytes + offset, length);
    return true;
}

static bool is_native(const ElfW(Ehdr) * header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == NATIVE_CLASS &&
           header->e_ident[EI_DATA] == NATIVE_DATA && header->e_type == ET_DYN;
}

static bool section(const image_t *image, const ElfW(Ehdr) * header, unsigned index,
                    ElfW(Shdr) * out)
{
    return index < header->e_shnum && header->e_shentsize == sizeof(*out) &&
           fetch(image, (uint64_t)header->e_shoff + (uint64_t)index * sizeof(*out), out,
                 sizeof(*out));
}

static bool is_named(const image_t *image, const ElfW(Shdr) * strings,
                     const ElfW(Sym) * symbol, const char *name)
{
    char text[64];
    size_t length = strlen(name) + 1;

    return length <= sizeof(text) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_name < strings->sh_size &&
           fetch(image, (uint64_t)strings->sh_offset + symbol->st_name, text, length) &&
           memcmp(text, name, length) == 0;
}

static bool find_in_table(const image_t *image, const ElfW(Ehdr) * header,
                          const ElfW(Shdr) * table, const char *name,
                          ElfW(Sym) * symbol)
{
    ElfW(Shdr) strings;

    if (!section(image, header, table->sh_link, &strings))
        return false;
    for (uint64_t at = 0; at + sizeof(*symbol) <= table->sh_size;
         at += sizeof(*symbol)) {
        if (!fetch(image, (uint64_t)table->sh_offset + at, symbol, sizeof(*symbol)))
            return false;
        if (is_named(image, &strings, symbol, name))
            return true;
    }
    return false;
}

static bool find_symbol(const image_t *image, const ElfW(Ehdr) * header,
                        const char *name, ElfW(Sym) * symbol)
{
    ElfW(Shdr) table;

    for (unsigned i = 0; section(image, header, i, &table); i++)
        if (table.sh_type == SHT_DYNSYM &&
            find_in_table(image, header, &table, name, symbol))
            return true;
    return false;
}

/* Read what the loader would put at address. */
static bool fetch_loaded(const image_t *image, const ElfW(Ehdr) * header,
                         uint64_t address, void *to, size_t length)
{
    ElfW(Phdr) part;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (header->e_phentsize != sizeof(part) ||
            !fetch(image, (uint64_t)header->e_phoff + i * sizeof(part), &part,
                   sizeof(part)))
            return false;
        if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
            address - part.p_vaddr < part.p_filesz &&
            length <= part.p_filesz - (address - part.p_vaddr))
            return fetch(image, part.p_offset + (address - part.p_vaddr), to, length);
    }
    return false;
}

int hpcb_elf_parse_u32(const char *path, const void *bytes, size_t size,
                       const char *symbol, uint32_t *value, hpcb_error_t *err)
{
    const image_t image = {bytes, size};
    ElfW(Ehdr) header;
    ElfW(Sym) found;
    uint32_t read;

    errno = ENOEXEC;
    if (!fetch(&image, 0, &header, sizeof(header)) || !is_native(&header))
        return hpcb_error(err, "%.*s is not a shared object for this machine",
                          PATH_SHOWN, path);
    errno = ENOENT;
    if (!find_symbol(&image, &header, symbol, &found))
        return hpcb_error(err, "%.*s exports no %s", PATH_SHOWN, path, symbol);
    errno = ENOEXEC;
    if (found.st_size != sizeof(read) ||
        !fetch_loaded(&image, &header, found.st_value, &read, sizeof(read)))
        return hpcb_error(err, "%.*s: %s is not an integer with a value", PATH_SHOWN,
                          path, symbol);
    *value = read;
    return 0;
}

int hpcb_elf_u32(const char *path, const char *symbol, uint32_t *value,
                 hpcb_error_t *err)
{
    hpcb_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *image;
    int status;

    if (fd < 0 || fstat(fd, &st))
        return hpcb_error(err, "%.*s: %s", PATH_SHOWN, path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        errno = ENOEXEC;
        return hpcb_error(err, "%.*s is not a shared object", PATH_SHOWN, path);
    }
    image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return hpcb_error(err, "%.*s: %s", PATH_SHOWN, path, strerror(errno));
    status = hpcb_elf_parse_u32(path, image, (size_t)st.st_size, symbol, value, err);
    munmap(image, (size_t)st.st_size);
    return status;
}
