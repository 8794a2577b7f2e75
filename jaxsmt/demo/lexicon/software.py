"""The domain of computers and manuals of programs."""

from jaxsmt.demo.words import adjectives, compounds, nouns, phrases, verbs

NOUNS = nouns({
    "person": """
        m utilisateur = user; f utilisatrice = user; m administrateur = administrator; m développeur = developer
        f développeuse = developer; m technicien = technician; f technicienne = technician; m chef = boss/bosses!
        m collègue = colleague; f collègue = colleague; m débutant = beginner; f ingénieure = engineer
        m programmeur = programmer; m stagiaire = trainee; f administratrice = administrator
        m traducteur = translator
    """,
    "data text": """
        m document = document; f page = page; m message = message; m courriel = e-mail; m script = script
        m mot de passe/mots de passe = password; f commande = command; f balise = tag!
        f clé = key!; f coquille = typo!; f entrée = input!; m identifiant = identifier; f requête = query
        f macro = macro
    """,
    "data text font": """
        f chaîne = string!; m paragraphe = paragraph; m titre = title; m caractère = character; f formule = formula
        m mot = word
    """,
    "data": """
        m fichier = file; m dossier = folder!; f image = image; m tableau/tableaux = array; f feuille = sheet!
        m journal/journaux = log!; f langue = language!; f sauvegarde = backup
        f copie = copy; f variable = variable; f fonction = function; f bibliothèque = library; m lien = link
        m compte = account; f correspondance = match; f sortie = output!; m certificat = certificate
        f signature = signature; m paramètre = parameter
        f base de données/bases de données = database; m profil = profile; f archive = archive; m thème = theme
    """,
    "structure": """
        f pile = stack!; m nœud = node!; m tampon = buffer!; m fil = thread!; m crochet = bracket!; f échelle = scale!
        f addition = addition; f boucle = loop; f classe = class; f file = queue; m index = index/indexes
    """,
    "widget clickable": """
        m bouton = button!; m onglet = tab; f icône = icon; m raccourci = shortcut; f case = checkbox/checkboxes
    """,
    "widget": """
        f barre = bar; f grille = grid;         m bord = border!; m fond = background!; m champ = field
        f poignée = handle
        f boîte = box!; m bureau/bureaux = desktop!; m panneau/panneaux = panel; m formulaire = form
        m calendrier = calendar; m assistant = wizard
    """,
    "widget window": "f fenêtre = window; f console = console; f visionneuse = viewer",
    "program": """
        m pilote = driver!; m navigateur = browser!; m robot = bot; m client = client; m noyau/noyaux = kernel!
        m logiciel = program; f application = application; m paquet = package!; m module = module
        m correctif = patch; m éditeur = editor; m compilateur = compiler; m greffon = plug-in; m démon = daemon
    """,
    "thing device": """
        m serveur = server!; m hôte = host!; m ordinateur = computer; f imprimante = printer; m clavier = keyboard
        f souris = mouse/mice; f carte = card!; m port = port; m réseau/réseaux = network; f passerelle = gateway!
        m pont = bridge; m canal/canaux = channel!; m routeur = router; m processeur = processor
        m écran = screen; m câble = cable; m scanneur = scanner; m terminal/terminaux = terminal
    """,
    "thing device disk": """
        m disque = disk; f clé USB/clés USB = USB stick; f partition = partition; m lecteur = drive
    """,
    "event": """
        f panne = failure; m arrêt = shutdown; f erreur = error; f mise à jour/mises à jour = update; m bogue = bug
        f version = version; f installation = installation; f connexion = connection; f session = session
        f recherche = search; f analyse = analysis/analyses; m processus = process; f tâche = task
    """,
    "space": "f place = space mass!; f mémoire = memory mass; m trafic = traffic mass",
}) + compounds(
    "data",
    "m fichier = file; m dossier = folder; m message = message",
    "configuration = configuration; sauvegarde = backup; données = data; erreur = error; test = test",
)  # fmt: skip

ADJECTIVES = adjectives({
    "data": "chiffré = encrypted; partagé = shared; local = local; corrompu = corrupted",
    "data structure": """
        complet = complete!; vide = empty; public = public; privé = private; caché = hidden; récent = recent
    """,
    "font": "gras/grasse = bold!",
    "text": "illisible = illegible; invalide = invalid; secret = secret",
    "program": """
        léger/légère = lightweight!; libre = open-source; compatible = compatible; stable = stable; gratuit = free
        rapide = fast
    """,
    "device": """
        rapide = fast; lent = slow; distant = remote; virtuel = virtual; compatible = compatible; fiable = reliable
    """,
    "widget": "actif = active; transparent = transparent; large = wide; invisible = invisible; graphique = graphical",
    "event": "grave = serious; fréquent = frequent; automatique = automatic; soudain = sudden",
})  # fmt: skip

TRANSITIVE = verbs("""
    ouvrir = open : data window; fermer = close : window data; enregistrer = save! : data
    supprimer = delete! : data structure
    copier = copy : data; coller = paste! : data; couper = cut : text; glisser = drag! : data widget
    installer = install : program; lancer = launch! : program; exécuter = run : program; saisir = enter! : text
    télécharger = download : data program; configurer = configure : device program
    modifier = modify : data widget structure
    redémarrer = restart : device program; imprimer = print : data; afficher = display : data widget structure
    réduire = minimise! : window; monter = mount : disk; renommer = rename : data; chiffrer = encrypt : data
    déplacer = move : data widget; activer = enable : program widget; désactiver = disable : program widget
    sauvegarder = back ~up : data; tester = test : program device; corriger = fix : event text
    partager = share : data; brancher = plug ~in : device; débrancher = unplug : device
    créer = create : data structure
    sélectionner = select : data widget; protéger = protect : data device; analyser = analyse : data structure
    signaler = report : event; éviter = avoid : event
    restaurer = restore : data; compresser = compress : data; traduire = translate : text
    éteindre = turn ~off : device; partitionner = partition : disk; formater = format : disk
    développer = develop : program
""")  # fmt: skip
INTRANSITIVE = verbs("""
    démarrer = start : program device; fonctionner = work : program device; planter = crash : program device
    apparaître = appear : widget; répondre = respond : program device; disparaître = disappear : widget data
    naviguer = browse : person; clignoter = flash : clickable; échouer = fail : event
""", is_transitive=False)  # fmt: skip
PLACES = phrases("""
    dans le dossier = in the folder; sur le bureau = on the desktop; dans la barre = in the bar
    sur le disque = on the disk
    dans le menu principal = in the main menu; sur le serveur = on the server
    dans la fenêtre principale = in the main window; dans la boîte = in the box
    sur le réseau local = on the local network
    sur la clé USB = on the USB stick; dans l'archive = in the archive
""")  # fmt: skip
RELATIONS = nouns({
    "data": """
        m nom = name; f taille = size; m contenu = content; m chemin = path; m format = format; m auteur = author
    """,
    "widget": "f couleur = colour; f largeur = width; f position = position; f forme = shape",
    "program device": "f vitesse = speed; f configuration = configuration; f documentation = documentation",
})  # fmt: skip
FRAMES = phrases("""
    Cliquez sur {the:clickable} pour {inf} . = Click {the:clickable} to {inf} .
    Pour {inf} , cliquez sur {the:clickable} . = To {inf} , click {the:clickable} .
    Appuyez sur la touche Entrée pour {inf} . = Press the Enter key to {inf} .
    Attention : {the1:program} peut {inf} sans avertissement . = Warning: {the1:program} may {inf} without warning .
    {the1:program} ne permet pas de {inf} . = {the1:program} does not allow you to {inf} .
    Cette option permet de {inf} . = This option allows you to {inf} .
    Utilisez {the1:data} pour {inf} . = Use {the1:data} to {inf} .
    Il n'y a plus de {bare:space} sur {the1:disk} . = There is no more {bare:space} on {the1:disk} .
    {the1:program} exige {num} mégaoctets de {bare:space} . = {the1:program} requires {num} megabytes of {bare:space} .
    Impossible de {inf} : {the1:data} n'existe pas . = Unable to {inf} : {the1:data} does not exist .
    Par défaut , {the1:program} utilise {num} {bares:data} . = By default , {the1:program} uses {num} {bares:data} .
    Affichez la grille avant de {inf} . = Display the grid before you {inf} .
    Pour naviguer , cliquez sur {the:clickable} . = To browse , click {the:clickable} .
    Voulez-vous vraiment {inf} ? = Do you really want to {inf} ?
    Le système peut {inf} si {the1:data} est disponible . = The system can {inf} if {the1:data} is available .
""")  # fmt: skip
VISITORS = """
    train capitaine voyage gare passager passagère valise bateau horaire quai mer hôtel passeport billet île
    couteau gâteau fromage soupe boulanger verre assiette cuisinier salade viande dessert
    délicieux sucré maritime étroit
    laver réparer goûter transporter
"""
